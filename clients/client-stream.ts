import { type CallInfo, NO_INFO, type ResponseStream } from "./channel.js";

/** How a {@link ClientStream} gets its answers. */
export interface ClientStreamParts<T> {
  /** Fired when the reader leaves before the first answer; absent where there are no repeats to stop. */
  readonly left: AbortController | undefined;
  /** Begins an attempt. */
  open(): ResponseStream<T>;
  /** Makes attempts until one has a first answer, or its end. */
  first(attempt: () => Promise<IteratorResult<T, unknown>>): Promise<IteratorResult<T, unknown>>;
  /** Looks at who has answered; throws where it is not who should. */
  look(info: CallInfo): void;
  /** The error to tell for one that came behind the first answer. */
  judge(error: unknown): unknown;
}

/** The answers of a client's call: repeated until the first one came, then as the channel gives them. */
export class ClientStream<T> implements ResponseStream<T>, AsyncIterator<T, undefined> {
  readonly #parts: ClientStreamParts<T>;
  readonly #first: Promise<IteratorResult<T, unknown>>;
  #stream: ResponseStream<T> | undefined;
  #iterator: AsyncIterator<T> | undefined;
  #begun = false;

  constructor(parts: ClientStreamParts<T>) {
    this.#parts = parts;
    this.#first = parts.first(async () => {
      this.#stream = parts.open();
      this.#iterator = this.#stream[Symbol.asyncIterator]();
      const first = await this.#iterator.next();
      try {
        parts.look(this.#stream.info);
      } catch (error) {
        await this.#iterator.return?.();
        throw error;
      }
      return first;
    });
    // Told by next(); a stream that nobody reads must not end the process.
    this.#first.catch(() => {});
  }

  get info(): CallInfo {
    return this.#stream?.info ?? NO_INFO;
  }

  [Symbol.asyncIterator](): AsyncIterator<T, undefined> {
    return this;
  }

  async next(): Promise<IteratorResult<T, undefined>> {
    if (!this.#begun) {
      this.#begun = true;
      return plain(await this.#first);
    }
    if (this.#iterator === undefined) return DONE;
    try {
      return plain(await this.#iterator.next());
    } catch (error) {
      throw this.#parts.judge(error);
    }
  }

  async return(): Promise<IteratorResult<T, undefined>> {
    this.#begun = true;
    this.#parts.left?.abort();
    await this.#iterator?.return?.();
    return DONE;
  }
}

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined };

function plain<T>(result: IteratorResult<T, unknown>): IteratorResult<T, undefined> {
  return result.done === true ? DONE : result;
}
