/** A timer that was set and may be taken back. */
export interface Timer {
  /** Takes the timer back; harmless once it has gone off. */
  cancel(): void;
}

/** Time as the runtime sees it. Injected wherever time matters, so that tests need not wait. */
export interface Clock {
  /** Milliseconds since some fixed moment; never goes back. */
  now(): number;
  /** The time of day, for records that people read. */
  date(): Date;
  /** Calls `callback` once, `ms` milliseconds from now. It does not keep the process alive. */
  setTimer(ms: number, callback: () => void): Timer;
}

/** Node holds delays in 32 bits; a longer one would go off at once. */
const longestDelayMs = 2 ** 31 - 1;

/** The machine's own time. */
export const systemClock: Clock = {
  now: () => performance.now(),
  date: () => new Date(),
  setTimer(ms, callback) {
    let handle: NodeJS.Timeout;
    const arm = (left: number): void => {
      const delay = Math.min(left, longestDelayMs);
      handle = setTimeout(() => (left > delay ? arm(left - delay) : callback()), delay);
      handle.unref();
    };
    arm(Math.max(0, ms));
    return { cancel: () => clearTimeout(handle) };
  },
};
