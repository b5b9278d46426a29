import type { Clock } from "./clock.js";

/** How long work is waited for. */
export interface Patience {
  readonly clock: Clock;
  /** Milliseconds. */
  readonly ms: number;
  /** What is thrown of work that takes longer. */
  late(): Error;
}

/** What the work answers or throws, where it does so in time. The work itself goes on: nothing here ends it. */
export function within<T>(work: Promise<T>, { clock, ms, late }: Patience): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = clock.setTimer(ms, () => reject(late()));
    work.then(resolve, reject).finally(() => timer.cancel());
  });
}
