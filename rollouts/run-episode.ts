import { create } from "@bufbuild/protobuf";
import { CallError, type EpisodeClient } from "../clients/index.js";
import {
  type EpisodeOutcome,
  type Failure,
  FailureKind,
  FailureSchema,
  type ReadTrajectoryResponse,
  type ResourceIntent,
  Retry,
  type RunRequest,
  RunRequestSchema,
  Stage,
  StopMode,
} from "../gen/index.js";
import { contextOf, type PlannedEpisode } from "./plan.js";
import { type AttemptResult, mayRetry } from "./rollout-record.js";

/** What running an episode needs. */
export interface RunEpisodeOptions {
  readonly client: EpisodeClient;
  /** What is asked of every episode alike; task and context are put in. */
  readonly request: RunRequest;
  /** Attempts in all; the first one here may not be 0 where a run is resumed. */
  readonly attempts: number;
  readonly firstAttempt: number;
  readonly signal: AbortSignal;
  /** An attempt begins: its number is used up. */
  onAttempt(attempt: number): void;
  /** An attempt has ended, and what follows. */
  onEnd(result: AttemptResult, next: EpisodeNext): void;
}

/**
 * What follows an attempt: another one, the end (a verdict, a failure that no attempt may cure, attempts used up), or
 * nothing for now because the run was stopped.
 */
export type EpisodeNext = "retry" | "verdict" | "failed" | "exhausted" | "stopped";

/** Runs an episode: another attempt follows only where the failure calls for one (field-case-040). */
export async function runEpisode(episode: PlannedEpisode, options: RunEpisodeOptions): Promise<EpisodeNext> {
  let unreleased: ResourceIntent[] = [];
  for (let attempt = options.firstAttempt; ; attempt += 1) {
    if (options.signal.aborted) return "stopped";
    options.onAttempt(attempt);
    const { result, left } = await runAttempt(episode, { ...options, attempt, unreleased });
    unreleased = left;
    const next = whatNext(result.failure, {
      more: attempt + 1 < options.attempts,
      stopped: options.signal.aborted,
    });
    options.onEnd(result, next);
    if (next !== "retry") return next;
  }
}

function whatNext(
  failure: Failure | undefined,
  { more, stopped }: { more: boolean; stopped: boolean },
): EpisodeNext {
  if (failure === undefined) return "verdict";
  if (!mayRetry(failure)) return "failed";
  if (stopped) return "stopped";
  return more ? "retry" : "exhausted";
}

interface AttemptOptions extends RunEpisodeOptions {
  readonly attempt: number;
  readonly unreleased: readonly ResourceIntent[];
}

async function runAttempt(
  episode: PlannedEpisode,
  { client, request, attempt, unreleased, signal }: AttemptOptions,
): Promise<{ result: AttemptResult; left: ResourceIntent[] }> {
  const context = contextOf(episode, attempt);
  const id = context.episodeId === undefined ? {} : { episodeId: context.episodeId };
  const open = new Map<string, ResourceIntent>();
  // A run that is stopped ends its episodes itself: left alone they would go on until they count as orphans.
  const stop = (): void => {
    client.stop({ ...id, mode: StopMode.ABANDON, reason: "the run was stopped" }).catch(() => undefined);
  };
  signal.addEventListener("abort", stop, { once: true });
  try {
    const events = client.run(
      create(RunRequestSchema, {
        ...request,
        context,
        source: { case: "task", value: episode.task },
        unreleased: [...unreleased],
      }),
    );
    for await (const { event } of events) {
      if (event.case === "resourceIntent") open.set(event.value.id, event.value);
      if (event.case === "resourceReleased") open.delete(event.value.id);
    }
    const outcome = await events.result();
    const trajectory: ReadTrajectoryResponse[] = [];
    for await (const record of client.readTrajectory(id)) trajectory.push(record);
    const result = { episode, attempt, outcome, failure: failureOf(outcome), trajectory };
    return { result, left: [...open.values()] };
  } catch (error) {
    const result = { episode, attempt, outcome: undefined, failure: failureOfCall(error), trajectory: [] };
    return { result, left: [...open.values()] };
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** The failure of an outcome; one that holds neither verdict nor failure is a failure too (ALL-FAIL-006). */
function failureOf({ outcome }: EpisodeOutcome): Failure | undefined {
  switch (outcome.case) {
    case "verdict":
      return undefined;
    case "failure":
      return outcome.value;
    case undefined:
      return create(FailureSchema, {
        kind: FailureKind.PROTOCOL_VIOLATION,
        stage: Stage.UNSPECIFIED,
        retry: Retry.NEVER,
        reason: "the episode server gave an outcome with neither a verdict nor a failure that is known here",
      });
  }
}

/** The failure of an episode whose server did not answer: what it refused, or that it was lost. */
function failureOfCall(error: unknown): Failure {
  if (!(error instanceof CallError)) {
    return create(FailureSchema, {
      kind: FailureKind.INTERNAL,
      retry: Retry.NEVER,
      reason: `the run itself failed: ${error instanceof Error ? error.message : String(error)}`,
    });
  }
  const retryable = !error.isRefusal || error.retryAfterMs !== undefined;
  return create(FailureSchema, {
    kind: retryable ? FailureKind.UNAVAILABLE : FailureKind.PROTOCOL_VIOLATION,
    stage:
      error.reason === "CAPACITY" || error.reason === "ADMISSION_TIMEOUT" ? Stage.ADMISSION : Stage.CHECK,
    retry: retryable ? Retry.NEW_ATTEMPT : Retry.NEVER,
    reason: error.message.slice(0, 2000),
  });
}
