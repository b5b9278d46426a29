import type { ConnectError } from "@connectrpc/connect";

/** What surrounds the answers of one streaming call. */
export interface AnswerStreamOptions {
  /** Begins the call, when an answer is asked for the first time. Throws whatever the answers may reject with. */
  readonly begin: () => AsyncIterable<unknown>;
  /** What the reader is told instead of an error. */
  readonly toStatus: (error: unknown) => ConnectError;
  /** Told once of a call that began: all was read, the reader left before, or it failed. */
  readonly ended: (how: "served" | "left" | ConnectError) => void;
}

/**
 * The answers of a streaming call on the way to its reader. An iterator by hand: as a generator each message would cost
 * some promises more.
 */
export class AnswerStream implements AsyncIterableIterator<unknown> {
  #answers: AsyncIterator<unknown> | undefined;
  #over = false;

  constructor(private readonly options: AnswerStreamOptions) {}

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<unknown>> {
    if (this.#over) return Promise.resolve({ done: true, value: undefined });
    try {
      this.#answers ??= this.options.begin()[Symbol.asyncIterator]();
      return this.#answers.next().then(this.#seen, this.#failed);
    } catch (error) {
      return Promise.reject(this.#statusOf(error));
    }
  }

  /** The reader leaves. */
  async return(): Promise<IteratorResult<unknown>> {
    if (!this.#over && this.#answers !== undefined) {
      this.#end("left");
      await this.#answers.return?.().catch(this.#failed);
    }
    this.#over = true;
    return { done: true, value: undefined };
  }

  /** The reader leaves with an error. */
  async throw(error: unknown): Promise<IteratorResult<unknown>> {
    await this.return();
    throw error;
  }

  readonly #seen = (result: IteratorResult<unknown>): IteratorResult<unknown> => {
    if (result.done === true) this.#end("served");
    return result;
  };

  readonly #failed = (error: unknown): never => {
    throw this.#statusOf(error);
  };

  #statusOf(error: unknown): ConnectError {
    const status = this.options.toStatus(error);
    this.#end(status);
    return status;
  }

  #end(how: "served" | "left" | ConnectError): void {
    if (this.#over) return;
    this.#over = true;
    this.options.ended(how);
  }
}
