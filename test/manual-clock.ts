import type { Clock, Timer } from "../servers/runtime/clock.js";

interface Alarm {
  readonly at: number;
  readonly callback: () => void;
}

/** A clock that a test moves. Time of day begins at the start of 2026. */
export class ManualClock implements Clock {
  #now = 0;
  readonly #alarms = new Set<Alarm>();
  readonly #watchers = new Set<() => void>();

  now(): number {
    return this.#now;
  }

  date(): Date {
    return new Date(Date.UTC(2026, 0, 1) + this.#now);
  }

  setTimer(ms: number, callback: () => void): Timer {
    const alarm = { at: this.#now + Math.max(0, ms), callback };
    this.#alarms.add(alarm);
    for (const look of this.#watchers) look();
    return { cancel: () => void this.#alarms.delete(alarm) };
  }

  /** Timers that are set. */
  get timers(): number {
    return this.#alarms.size;
  }

  /** Milliseconds from now to each timer, the next one first. */
  due(): number[] {
    return [...this.#alarms].map(({ at }) => at - this.#now).sort((a, b) => a - b);
  }

  /** Waits until a timer is set that falls due `ms` from now: whatever sets it has then got that far. */
  timer(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (!this.due().includes(ms)) return;
        this.#watchers.delete(look);
        resolve();
      };
      this.#watchers.add(look);
      look();
    });
  }

  /** Moves on as a thread does that is busy: nothing goes off before it is free. */
  spin(ms: number): void {
    this.#now += ms;
  }

  /** Moves on, setting off what falls due, in order; what that sets off in turn too. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const next = [...this.#alarms].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (next === undefined) break;
      this.#alarms.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.callback();
    }
    this.#now = end;
  }
}
