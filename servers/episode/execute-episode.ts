import {
  Boundary,
  type CleanUp,
  type EpisodeId,
  type EpisodeOutcome,
  type Failure,
  FailureKind,
  type ResourceIntent,
  Retry,
  type RunRequest,
  Stage,
  type Verdict,
} from "../../gen/index.js";
import { keptMessageLimit } from "../runtime/answer-limit.js";
import { fromMs } from "../runtime/duration.js";
import { cancelledFailure, OperationFailure, toFailure } from "../runtime/failure.js";
import { logError } from "../runtime/log.js";
import { failureOf } from "../runtime/peer-failure.js";
import type { Runtime } from "../runtime/runtime.js";
import type { Admitted } from "./admit-episode.js";
import type { CastingPool } from "./cast.js";
import { CleanUpStack } from "./clean-up-stack.js";
import { type EpisodeRecord, leftOf } from "./episode-record.js";
import { EpisodeRun, released } from "./episode-run.js";
import { fitOutcome } from "./fit-outcome.js";
import { outcomeOf } from "./outcome.js";
import { isOf } from "./relayed-names.js";
import type { PhaseTimeouts } from "./timeouts.js";
import { ownedOf } from "./unreleased.js";

/** What executing an episode needs. */
export interface ExecuteOptions {
  readonly runtime: Runtime;
  readonly pool: CastingPool;
  readonly timeouts: PhaseTimeouts;
  readonly request: RunRequest;
  readonly episodeId: EpisodeId;
  readonly record: EpisodeRecord;
  readonly admitted: Admitted;
  readonly answerId: string;
  /** Earlier attempts at the same rollout that this instance remembers. */
  readonly earlier: readonly EpisodeRecord[];
}

type Score = { readonly verdict: Verdict } | { readonly failure: Failure };

/** Runs an admitted episode to its outcome, whatever happens; everything that it made is released then. */
export async function executeEpisode(options: ExecuteOptions): Promise<EpisodeOutcome> {
  const { runtime, request, record, admitted, answerId, timeouts } = options;
  record.tell({
    case: "accepted",
    value: { $typeName: "touchstone.v1.Accepted", timeout: fromMs(timeouts.episodeMs) },
  });
  const before = await releaseEarlier(options);
  const { run, score } = await play(options);
  const parts = { answerId, request, run, score, trajectory: record.trajectory };
  const timings = () => ({
    ...run?.phases.timings,
    queue: admitted.queueMs,
    check: admitted.checkMs,
    cleanUp: before.spentMs + (run?.stack.spentMs ?? 0),
  });
  const outcome = (cleanUps: readonly CleanUp[]): EpisodeOutcome =>
    fitOutcome(
      outcomeOf({ ...parts, timings: timings(), cleanUps, stopReason: record.stopReason }),
      keptMessageLimit(runtime.limits),
    );
  try {
    // A score is never lost again, whatever becomes of this server while it cleans up.
    record.journal.scored(() => outcome([]));
    run?.phases.begin(Stage.CLEAN_UP);
  } finally {
    // E2: whatever came of it, everything is released; no signal of the episode reaches in here.
    await run?.stack.releaseAll().finally(() => run.renewals.stopAll());
  }
  const cleanUps = [...before.results, ...(run?.stack.results ?? []), ...(run?.relayed?.cleanUps ?? [])];
  record.left = leftOf(cleanUps);
  missedSteps(record, run);
  return outcome(cleanUps);
}

/** Closes what an earlier attempt told and did not release, and what this instance itself remembers (EPI-E6-012). */
async function releaseEarlier(options: ExecuteOptions): Promise<CleanUpStack> {
  const { runtime, pool, timeouts, request, record, earlier, admitted } = options;
  const stack = new CleanUpStack({
    clock: runtime.clock,
    log: runtime.log,
    timeoutMs: timeouts.cleanUpMs,
    onIntent: () => {},
    onReleased: (intent) => record.tell(released(intent)),
  });
  const remembered: ResourceIntent[] = [];
  for (const attempt of earlier) {
    // An attempt whose caller has begun another one is nobody's any more.
    attempt.abandon(cancelledFailure("a newer attempt of the rollout has begun"));
    await attempt.operation?.settled().catch(() => undefined);
    remembered.push(...attempt.left);
    attempt.left = [];
  }
  // Another episode server that plays is handed its own.
  const relay = admitted.cast.relay?.name;
  const ours = [...request.unreleased, ...remembered].filter((intent) => !isOf(relay, intent));
  for (const owned of ownedOf(pool.peers, ours, record.watched)) stack.own(owned);
  await stack.releaseAll();
  return stack;
}

/** Lets the driver play. Never throws: what it is, is told. */
async function play(
  options: ExecuteOptions,
): Promise<{ readonly run: EpisodeRun | undefined; readonly score: Score }> {
  const { runtime, timeouts, request, episodeId, record, admitted } = options;
  const { cast, described } = admitted;
  if (described instanceof OperationFailure) {
    const cut: unknown = record.abandoned.aborted ? record.abandoned.reason : described;
    return { run: undefined, score: { failure: told(cut, Stage.CHECK) } };
  }
  const run = new EpisodeRun({
    request,
    episodeId,
    cast,
    described,
    timeouts,
    clock: runtime.clock,
    log: runtime.log,
    trajectory: record.trajectory,
    watched: record.watched,
    tell: record.tell,
    abandon: record.abandoned,
    finish: record.finished,
    stopReason: () => record.stopReason,
  });
  try {
    return { run, score: { verdict: await run.run() } };
  } catch (error) {
    const failure = told(error, run.phases.stage);
    if (failure.kind === FailureKind.INTERNAL) logError(runtime.log, { episode: record.key }, error);
    else runtime.log.info({ episode: record.key, err: error }, "the episode failed");
    return { run, score: { failure } };
  }
}

/** An error as the episode's failure. */
function told(error: unknown, stage: Stage): Failure {
  const known = failureOf(error, { boundary: Boundary.EPISODE, lost: FailureKind.UNAVAILABLE });
  const failure = toFailure(known, { stage });
  // EPI-E6-014: a driver starts no attempt itself; what the next index might have cured, another attempt may.
  if (failure.retry === Retry.NEXT_INDEX) failure.retry = Retry.NEW_ATTEMPT;
  return failure;
}

/** Says of the trajectory that steps are missing, where they are. */
function missedSteps({ trajectory }: EpisodeRecord, run: EpisodeRun | undefined): void {
  const { receipt, stepsTold = 0 } = run?.environment ?? {};
  if ((receipt?.steps ?? 0) > stepsTold && run?.environment.tellsSteps === false) {
    trajectory.miss("the environment does not tell its steps (feature WATCH_STEPS is not declared)");
  }
}
