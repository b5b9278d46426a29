/**
 * The turn of a session: one operation at a time, in the order in which they came (ALL-ORDER-003, ALL-ORDER-008).
 * The next one waits; it is never overtaken.
 */
export class Turn {
  #taken = false;
  readonly #queue: (() => void)[] = [];

  /** Whether somebody has the turn. */
  get taken(): boolean {
    return this.#taken;
  }

  /** Takes the turn, at once if it is free. */
  take(): void | Promise<void> {
    if (!this.#taken) {
      this.#taken = true;
      return undefined;
    }
    return new Promise((resolve) => this.#queue.push(resolve));
  }

  /** Gives the turn to the next in the queue. */
  give(): void {
    const next = this.#queue.shift();
    if (next === undefined) this.#taken = false;
    else next();
  }
}
