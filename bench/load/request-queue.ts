/** Requests of a stream, pushed by whoever steps and read by the stream's client. One reader. */
export class RequestQueue<T> implements AsyncIterableIterator<T, undefined> {
  readonly #waiting: T[] = [];
  #reader: ((result: IteratorResult<T, undefined>) => void) | undefined;
  #ended = false;

  [Symbol.asyncIterator](): this {
    return this;
  }

  push(value: T): void {
    const reader = this.#reader;
    this.#reader = undefined;
    if (reader === undefined) this.#waiting.push(value);
    else reader({ done: false, value });
  }

  /** No request follows. */
  end(): void {
    this.#ended = true;
    this.#reader?.(DONE);
    this.#reader = undefined;
  }

  next(): Promise<IteratorResult<T, undefined>> {
    const value = this.#waiting.shift();
    if (value !== undefined) return Promise.resolve({ done: false, value });
    if (this.#ended) return Promise.resolve(DONE);
    return new Promise((resolve) => {
      this.#reader = resolve;
    });
  }

  /** The reader wants no more. */
  return(): Promise<IteratorResult<T, undefined>> {
    this.end();
    return Promise.resolve(DONE);
  }
}

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined };
