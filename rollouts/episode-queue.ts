import type { PlannedEpisode } from "./plan.js";

/** Hands out the episodes of a plan. Embedded here; an engine that many machines share can take its place. */
export interface EpisodeQueue {
  /**
   * Works through the episodes, at most `concurrency` at once, in the order of the plan, until none is left or `signal`
   * aborts; then nothing new is begun. Resolves when everything that was begun has ended. An error of one episode's work
   * touches no other (field-case-038); the first is thrown at the end.
   */
  drain(options: DrainOptions): Promise<void>;
}

/** How a queue is worked through. */
export interface DrainOptions {
  readonly episodes: readonly PlannedEpisode[];
  readonly concurrency: number;
  readonly signal: AbortSignal;
  /** Runs one episode to its end. */
  readonly work: (episode: PlannedEpisode) => Promise<void>;
}

/** A queue in this process. */
export const embeddedQueue: EpisodeQueue = {
  async drain({ episodes, concurrency, signal, work }) {
    const next = episodes.values();
    const errors: unknown[] = [];
    const worker = async (): Promise<void> => {
      for (const episode of next) {
        if (signal.aborted) return;
        await work(episode).catch((error: unknown) => errors.push(error));
      }
    };
    await Promise.all(Array.from({ length: Math.min(concurrency, episodes.length) }, worker));
    if (errors.length > 0) throw errors[0];
  },
};
