import { create } from "@bufbuild/protobuf";
import {
  Boundary,
  type CleanUp,
  CleanUpSchema,
  type EpisodeEvent,
  type EpisodeOutcome,
  EpisodeOutcomeSchema,
  FailureKind,
  type ResourceIntent,
  Retry,
  Stage,
} from "../../gen/index.js";
import { keptMessageLimit } from "../runtime/answer-limit.js";
import { fromMs, toMs } from "../runtime/duration.js";
import { OperationFailure, toFailure } from "../runtime/failure.js";
import type { Runtime } from "../runtime/runtime.js";
import { CleanUpStack } from "./clean-up-stack.js";
import type { EpisodeRecord } from "./episode-record.js";
import { released } from "./episode-run.js";
import type { StoredContent } from "./episode-store.js";
import { fitOutcome } from "./fit-outcome.js";
import { outcomeOf } from "./outcome.js";
import type { Peers } from "./peers.js";
import { isRelayed } from "./relayed-names.js";
import type { PhaseTimeouts } from "./timeouts.js";
import { ownedOf } from "./unreleased.js";

/** What ending an episode needs that was going on when its server went. */
export interface RecoverOptions {
  readonly runtime: Runtime;
  readonly peers: Peers;
  readonly timeouts: PhaseTimeouts;
  readonly record: EpisodeRecord;
  readonly content: StoredContent;
  readonly answerId: string;
}

/**
 * Ends an episode that was going on when its server went: what it had made is released, as far as its servers still
 * know it; a score that it had by then stays, else another attempt may be made.
 */
export async function recoverEpisode(options: RecoverOptions): Promise<EpisodeOutcome> {
  const { runtime, peers, timeouts, record, content, answerId } = options;
  const { request, scored, events } = content;
  const made = resourcesOf(events, request.unreleased);
  record.trajectory.miss("the episode server was restarted in the middle of it");
  const stack = new CleanUpStack({
    clock: runtime.clock,
    log: runtime.log,
    timeoutMs: timeouts.cleanUpMs,
    onIntent: () => {},
    onReleased: (intent) => record.tell(released(intent)),
  });
  for (const owned of ownedOf(peers, made.open, record.watched)) stack.own(owned);
  await stack.releaseAll();
  const cleanUps = [...stack.results, ...made.gone.map(goneBefore)];
  record.left = made.open.filter(({ id }) =>
    stack.results.some(({ resource, released: gone }) => resource?.id === id && !gone),
  );
  const whole =
    scored ??
    outcomeOf({
      answerId,
      request,
      run: undefined,
      score: { failure: toFailure(restarted(), { stage: lastStage(events) }) },
      cleanUps,
      trajectory: record.trajectory,
      timings: { queue: 0 },
      stopReason: record.stopReason,
    });
  const steps = events.filter(({ event }) => event.case === "step").length;
  const outcome = create(EpisodeOutcomeSchema, {
    ...whole,
    steps: Math.max(whole.steps, steps),
    trajectory: record.trajectory.ref,
    cleanUps,
  });
  if (outcome.timings !== undefined) {
    const before = outcome.timings.cleanUp;
    outcome.timings.cleanUp = fromMs(stack.spentMs + (before === undefined ? 0 : toMs(before)));
  }
  return fitOutcome(outcome, keptMessageLimit(runtime.limits));
}

/** What an episode told to make, and hands on of earlier attempts: what may be left, and what was told to be released. */
function resourcesOf(
  events: readonly EpisodeEvent[],
  unreleased: readonly ResourceIntent[],
): { readonly open: readonly ResourceIntent[]; readonly gone: readonly ResourceIntent[] } {
  const open = new Map(unreleased.map((intent) => [intent.id, intent]));
  const gone: ResourceIntent[] = [];
  for (const { event } of events) {
    if (event.case === "resourceIntent") open.set(event.value.id, event.value);
    if (event.case !== "resourceReleased") continue;
    const intent = open.get(event.value.id);
    if (intent !== undefined) gone.unshift(intent);
    open.delete(event.value.id);
  }
  // What another episode server made it releases itself, when its episode is ended.
  return { open: [...open.values()].filter((intent) => !isRelayed(intent)), gone };
}

function goneBefore(resource: ResourceIntent): CleanUp {
  return create(CleanUpSchema, { resource, released: true });
}

function lastStage(events: readonly EpisodeEvent[]): Stage {
  const told = events.findLast(({ event }) => event.case === "stage")?.event;
  return told?.case === "stage" ? told.value.stage : Stage.ADMISSION;
}

function restarted(): OperationFailure {
  const kind = FailureKind.CANCELLED;
  return new OperationFailure({
    kind,
    retry: Retry.NEW_ATTEMPT,
    reason: "the episode server was restarted in the middle of the episode",
    causes: [
      {
        $typeName: "touchstone.v1.Cause",
        boundary: Boundary.EPISODE,
        kind,
        rpc: "",
        delivery: 0,
        reason: "",
      },
    ],
  });
}
