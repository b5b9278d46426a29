import type { Clock, Timer } from "../servers/runtime/clock.js";

interface Pending {
  readonly at: number;
  readonly callback: () => void;
}

/** Time that stands still until a test moves it. */
export class ManualClock implements Clock {
  #now = 0;
  readonly #timers = new Set<Pending>();

  now(): number {
    return this.#now;
  }

  date(): Date {
    return new Date(this.#now);
  }

  setTimer(ms: number, callback: () => void): Timer {
    const pending = { at: this.#now + Math.max(0, ms), callback };
    this.#timers.add(pending);
    return { cancel: () => void this.#timers.delete(pending) };
  }

  /** Moves time on; timers that are due go off in their order, each at its own moment. */
  advance(ms: number): void {
    const until = this.#now + ms;
    for (;;) {
      const [next] = [...this.#timers].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at);
      if (next === undefined) break;
      this.#timers.delete(next);
      this.#now = next.at;
      next.callback();
    }
    this.#now = until;
  }
}
