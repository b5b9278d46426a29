/** A timer that was set and may be taken back. */
export interface Timer {
  /** Takes the timer back; harmless once it has gone off. */
  cancel(): void;
}

/** Time as the clients see it. Injected wherever time matters, so that tests need not wait. */
export interface Clock {
  /** Milliseconds since some fixed moment; never goes back. */
  now(): number;
  /** Calls `callback` once, `ms` milliseconds from now. */
  setTimer(ms: number, callback: () => void): Timer;
}

/** Node holds delays in 32 bits; a longer one would go off at once. */
const LONGEST_DELAY_MS = 2 ** 31 - 1;

/**
 * The machine's own time. Its timers keep the process alive: while a client waits before it repeats a call there is
 * nothing else that would.
 */
export const systemClock: Clock = {
  now: () => performance.now(),
  setTimer(ms, callback) {
    if (ms <= LONGEST_DELAY_MS) {
      const handle = setTimeout(callback, Math.max(0, ms));
      return { cancel: () => clearTimeout(handle) };
    }
    let next = systemClock.setTimer(LONGEST_DELAY_MS, () => {
      next = systemClock.setTimer(ms - LONGEST_DELAY_MS, callback);
    });
    return { cancel: () => next.cancel() };
  },
};
