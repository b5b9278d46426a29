import { setMaxListeners } from "node:events";
import type { EpisodeClient } from "../clients/index.js";
import type { RunRequest } from "../gen/index.js";
import type { Clock } from "../servers/runtime/clock.js";
import { abandonAfter } from "./abandon-after.js";
import { Breaker } from "./breaker.js";
import type { EpisodeQueue } from "./episode-queue.js";
import { oneLine } from "./error-text.js";
import type { Plan, PlannedEpisode } from "./plan.js";
import { type AttemptResult, failureRecord, rolloutRecord, scoredReward } from "./rollout-record.js";
import type { RolloutStore } from "./rollout-store.js";
import type { TakenStep } from "./run-attempt.js";
import { type EpisodeNext, runEpisode } from "./run-episode.js";
import type { EpisodeState, IndexRow } from "./run-index.js";
import type { RunSettings } from "./run-settings.js";

/** How far a run is. */
export interface RunProgress {
  readonly done: number;
  readonly total: number;
  readonly scored: number;
  readonly failed: number;
  /** Attempts that failed and were, or will be, followed by another one. */
  readonly retried: number;
  readonly rewardSum: number;
}

/** What collecting needs. */
export interface CollectOptions {
  readonly plan: Plan;
  readonly store: RolloutStore;
  readonly queue: EpisodeQueue;
  readonly client: EpisodeClient;
  readonly clock: Clock;
  readonly request: RunRequest;
  readonly settings: RunSettings;
  /** Episodes at once. */
  readonly concurrency: number;
  /** Milliseconds that the driver has to clean up an episode that was given up. */
  readonly abandonMs: number;
  /** Aborts when the run is asked to stop: nothing new is begun, and what runs may end within drain_timeout. */
  readonly stop: AbortSignal;
  /** Aborts when what runs is to be given up at once. */
  readonly abandon: AbortSignal;
  readonly onProgress: (progress: RunProgress) => void;
  readonly onStep?: ((step: TakenStep) => void) | undefined;
}

/** Milliseconds that a driver has to hear that an outcome is stored. */
const ackMs = 5000;
const ignore = (): void => {};

/** Where an episode stands after an attempt without a verdict. */
const stateAfter: Record<Exclude<EpisodeNext, "verdict">, EpisodeState> = {
  retry: "running",
  failed: "failed",
  exhausted: "exhausted",
  stopped: "planned",
};

/** States that a resumed run leaves as they are. What was exhausted may be tried again: its failure says so. */
export const settled: readonly EpisodeState[] = ["landed", "failed"];

/**
 * Works through what a plan still wants and lands each verdict. Answers why it stopped before its end; undefined: it
 * did not (field-case-100).
 */
export async function collect(options: CollectOptions): Promise<string | undefined> {
  const { plan, store, settings, client } = options;
  const rows = store.rows();
  const rowOf = ({ rolloutId }: PlannedEpisode): IndexRow | undefined => rows.get(rolloutId);
  const todo = plan.episodes.filter((episode) => !settled.includes(rowOf(episode)?.state ?? "planned"));
  const progress = progressOf(plan, rows);
  const tell = (): void => options.onProgress({ ...progress });
  tell();
  const breaker = new Breaker(settings.breaker);
  const stop = AbortSignal.any([options.stop, breaker.signal, store.broken]);
  using abandoning = abandonAfter(stop, {
    clock: options.clock,
    drainMs: settings.drain_timeout,
    atOnce: options.abandon,
    broken: store.broken,
  });
  const { signal: abandon } = abandoning;
  setMaxListeners(0, stop, abandon);
  const acknowledging = new Set<Promise<void>>();
  // The driver may forget what is stored; whether it hears of it changes nothing.
  const acknowledge = (stored: Promise<void>, { episode: { rolloutId }, attempt }: AttemptResult): void => {
    const told = stored
      .then(() => client.ack({ episodeId: { rolloutId, attempt } }, { timeoutMs: ackMs }))
      .then(ignore, ignore)
      .finally(() => acknowledging.delete(told));
    acknowledging.add(told);
  };
  const land = (result: AttemptResult, next: EpisodeNext): void => {
    if (next !== "verdict") {
      const record = failureRecord(result, next === "failed" || next === "exhausted");
      acknowledge(store.fail(record, stateAfter[next]), result);
      if (next !== "retry") return;
      progress.retried += 1;
      tell();
      return;
    }
    const record = rolloutRecord(result);
    acknowledge(store.land(record), result);
    const reward = scoredReward(record);
    if (reward === null) return;
    progress.scored += 1;
    progress.rewardSum += reward;
  };
  await options.queue.drain({
    episodes: todo,
    concurrency: options.concurrency,
    signal: stop,
    async work(episode) {
      try {
        const end = await runEpisode(episode, {
          ...options,
          stop,
          abandon,
          firstAttempt: rowOf(episode)?.attempts ?? 0,
          attempts: settings.attempts,
          maxRetryMs: settings.max_retry_delay,
          onAttempt: (attempt) => store.attempt(episode.rolloutId, attempt),
          onEnd: land,
        });
        breaker.ended(end.infrastructure);
        if (end.next === "failed" || end.next === "exhausted") progress.failed += 1;
        if (end.next !== "stopped") progress.done += 1;
        tell();
      } catch (error) {
        // What could not be stored stops the run; anything else is a defect and must be seen.
        if (!store.broken.aborted) throw error;
      }
    },
  });
  await store.sync();
  if (store.broken.aborted) return `its files cannot be written: ${oneLine(store.broken.reason)}`;
  await Promise.all(acknowledging);
  // Asked to stop when everything had ended: then it did not.
  if (progress.done === progress.total) return undefined;
  if (options.stop.aborted) return "it was asked to";
  if (breaker.signal.aborted)
    return `${settings.breaker} episodes in a row used up their attempts on infrastructure`;
  return undefined;
}

function progressOf(plan: Plan, rows: ReadonlyMap<string, IndexRow>) {
  const progress = { done: 0, total: plan.episodes.length, scored: 0, failed: 0, retried: 0, rewardSum: 0 };
  for (const { rolloutId } of plan.episodes) {
    const row = rows.get(rolloutId);
    if (row === undefined || !settled.includes(row.state)) continue;
    progress.done += 1;
    if (row.state === "failed") progress.failed += 1;
    if (row.reward === null) continue;
    progress.scored += 1;
    progress.rewardSum += row.reward;
  }
  return progress;
}
