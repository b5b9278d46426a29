import { type Failure, FailureKind, type ResourceIntent, Retry, Stage } from "../gen/index.js";
import { toMs } from "../servers/runtime/duration.js";
import type { PlannedEpisode } from "./plan.js";
import type { AttemptResult } from "./rollout-record.js";
import { type AttemptOptions, runAttempt } from "./run-attempt.js";

/** What running an episode needs. */
export interface RunEpisodeOptions extends AttemptOptions {
  /** Number of the first attempt here: not 0 where a run is resumed. */
  readonly firstAttempt: number;
  /** Attempts at most, from the first one on. */
  readonly attempts: number;
  /** Longest wait before another attempt, in milliseconds, where the failure asks for none. */
  readonly maxRetryMs: number;
  /** Aborts when nothing new is to be begun. */
  readonly stop: AbortSignal;
  /** An attempt begins: its number is used up. */
  onAttempt(attempt: number): void;
  /** An attempt has ended, and what follows. */
  onEnd(result: AttemptResult, next: EpisodeNext): void;
}

/**
 * What follows an attempt: another one; the end, which is a verdict, a failure that no attempt may cure, or attempts
 * used up; or nothing for now, because the run was stopped.
 */
export type EpisodeNext = "retry" | "verdict" | "failed" | "exhausted" | "stopped";

/** First wait before another attempt, in milliseconds; each further one is twice as long. */
const firstRetryMs = 250;
/** Longest wait that a failure may ask for; beyond it the episode ends at once (field-case-040). */
const maxRetryAfterMs = 10 * 60_000;

/** Runs an episode: another attempt follows only where the failure calls for one, and never more than the bound. */
export async function runEpisode(episode: PlannedEpisode, options: RunEpisodeOptions): Promise<EpisodeEnd> {
  const { firstAttempt, attempts, maxRetryMs, stop } = options;
  let unreleased: readonly ResourceIntent[] = [];
  for (let attempt = firstAttempt; ; attempt += 1) {
    if (stop.aborted) return { next: "stopped", infrastructure: false };
    options.onAttempt(attempt);
    const { result, left } = await runAttempt(episode, attempt, { ...options, unreleased });
    unreleased = left;
    const tried = attempt + 1 - firstAttempt;
    const waitMs = retryDelay(result.failure, { tried, maxRetryMs });
    const next = whatNext(result.failure, {
      more: tried < attempts && waitMs !== undefined,
      stopped: stop.aborted,
    });
    options.onEnd(result, next);
    if (next !== "retry")
      return { next, infrastructure: next === "exhausted" && isInfrastructure(result.failure) };
    await pause(waitMs ?? 0, options);
  }
}

/** How an episode has ended. */
export interface EpisodeEnd {
  readonly next: Exclude<EpisodeNext, "retry">;
  /** It used up its attempts and no agent is to blame: what the breaker counts. */
  readonly infrastructure: boolean;
}

function whatNext(
  failure: Failure | undefined,
  { more, stopped }: { readonly more: boolean; readonly stopped: boolean },
): EpisodeNext {
  if (failure === undefined) return "verdict";
  // R9: the kind implies no policy.
  if (failure.retry !== Retry.NEW_ATTEMPT) return "failed";
  if (stopped) return "stopped";
  return more ? "retry" : "exhausted";
}

/** An agent that needs too long for its turn may be slow by itself; all else that a new attempt may cure is not its doing. */
function isInfrastructure(failure: Failure | undefined): boolean {
  return failure !== undefined && !(failure.kind === FailureKind.TIMEOUT && failure.stage === Stage.ACTIVATE);
}

/** Milliseconds to wait before the next attempt; undefined: longer than a run waits. */
function retryDelay(
  failure: Failure | undefined,
  { tried, maxRetryMs }: { readonly tried: number; readonly maxRetryMs: number },
): number | undefined {
  if (failure?.retryAfter === undefined) return Math.min(maxRetryMs, firstRetryMs * 2 ** (tried - 1));
  const asked = toMs(failure.retryAfter);
  return asked <= maxRetryAfterMs ? asked : undefined;
}

/** Waits, or until the run is stopped. */
async function pause(ms: number, { clock, stop }: RunEpisodeOptions): Promise<void> {
  if (stop.aborted) return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      timer.cancel();
      stop.removeEventListener("abort", done);
      resolve();
    };
    const timer = clock.setTimer(ms, done);
    stop.addEventListener("abort", done, { once: true });
  });
}
