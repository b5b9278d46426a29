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
const longestDelayMs = 2 ** 31 - 1;

/** The machine's own time, whose timers keep the process alive, or do not. */
export function machineClock({ keepsAlive }: { readonly keepsAlive: boolean }): Clock {
  return {
    now: () => performance.now(),
    setTimer(ms, callback) {
      let handle: NodeJS.Timeout;
      const arm = (left: number): void => {
        const delay = Math.min(left, longestDelayMs);
        handle = setTimeout(() => (left > delay ? arm(left - delay) : callback()), delay);
        if (!keepsAlive) handle.unref();
      };
      arm(Math.max(0, ms));
      return { cancel: () => clearTimeout(handle) };
    },
  };
}

/** For clients: while one waits before it repeats a call there is nothing else that keeps the process alive. */
export const systemClock: Clock = machineClock({ keepsAlive: true });
