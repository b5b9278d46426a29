/**
 * Stops a run whose infrastructure is gone: counts episodes in a row that used up their attempts on failures that were
 * worth another one, never single attempts.
 */
export class Breaker {
  #inRow = 0;
  readonly #tripped = new AbortController();

  constructor(private readonly limit: number) {}

  /** Aborts when the limit is reached. */
  get signal(): AbortSignal {
    return this.#tripped.signal;
  }

  /** An episode has ended; `exhausted`: all its attempts failed on infrastructure. */
  ended(exhausted: boolean): void {
    this.#inRow = exhausted ? this.#inRow + 1 : 0;
    if (this.#inRow >= this.limit) this.#tripped.abort();
  }
}
