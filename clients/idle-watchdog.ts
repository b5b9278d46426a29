import type { Clock, Timer } from "./clock.js";

/** Notices that nothing has come for too long, while somebody waits. */
export class IdleWatchdog {
  readonly #clock: Clock;
  readonly #idleMs: number;
  readonly #onIdle: () => void;
  #timer: Timer | undefined;
  /** Since when somebody has been waiting; undefined while nobody is. */
  #waitingSince: number | undefined;

  /** @param onIdle - Called once, when somebody has waited for `idleMs` in vain. */
  constructor(clock: Clock, idleMs: number, onIdle: () => void) {
    this.#clock = clock;
    this.#idleMs = idleMs;
    this.#onIdle = onIdle;
  }

  /** Somebody waits from now on. One timer serves many waits: it looks at the newest when it goes off. */
  wait(): void {
    this.#waitingSince = this.#clock.now();
    if (this.#timer === undefined) this.#arm(this.#idleMs);
  }

  /** Something came: nobody waits. */
  rest(): void {
    this.#waitingSince = undefined;
  }

  stop(): void {
    this.#waitingSince = undefined;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #arm(ms: number): void {
    this.#timer = this.#clock.setTimer(ms, () => {
      this.#timer = undefined;
      if (this.#waitingSince === undefined) return;
      const left = this.#waitingSince + this.#idleMs - this.#clock.now();
      if (left > 0) this.#arm(left);
      else this.#onIdle();
    });
  }
}
