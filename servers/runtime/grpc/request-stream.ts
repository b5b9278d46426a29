import type { Message } from "@bufbuild/protobuf";
import type { Frame } from "./frame-reader.js";

/** Stop reading from the network above this many queued bytes ... */
const PAUSE_ABOVE_BYTES = 1024 * 1024;
/** ... and go on below this many. */
const RESUME_BELOW_BYTES = PAUSE_ABOVE_BYTES / 2;
/** Counted for every queued message besides its bytes, so that empty messages are bounded too. */
const FRAME_OVERHEAD_BYTES = 64;

/** What a request stream asks of the call it belongs to. */
export interface RequestSource {
  decode(frame: Frame): Message | Promise<Message>;
  /** Stops the flow from the network until `resume`. */
  pause(): void;
  resume(): void;
  /** Nothing more is wanted: drop what still comes, so that the client's window stays open. */
  discard(): void;
}

type Result = IteratorResult<Message>;

interface Waiter {
  resolve(result: Result | Promise<Result>): void;
  reject(reason: unknown): void;
}

const DONE: IteratorResult<Message> = Object.freeze({ done: true, value: undefined });

/**
 * The requests of a streaming call, as its implementation reads them.
 *
 * Messages are decoded when they are asked for. An error is given out once, after the messages before it; then
 * the iteration is over.
 */
export class RequestStream implements AsyncIterableIterator<Message> {
  readonly #source: RequestSource;
  readonly #queue: Frame[] = [];
  readonly #waiters: Waiter[] = [];
  #queuedBytes = 0;
  #paused = false;
  #ended = false;
  #error: { readonly reason: unknown } | undefined;

  constructor(source: RequestSource) {
    this.#source = source;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  push(frame: Frame): void {
    if (this.#ended) return;
    const waiter = this.#waiters.shift();
    if (waiter !== undefined) {
      waiter.resolve(this.#decode(frame));
      return;
    }
    this.#queue.push(frame);
    this.#queuedBytes += frame.bytes.length + FRAME_OVERHEAD_BYTES;
    if (!this.#paused && this.#queuedBytes > PAUSE_ABOVE_BYTES) {
      this.#paused = true;
      this.#source.pause();
    }
  }

  /** The client has sent everything, or (with a reason) what it sent cannot be read further. */
  end(error?: { readonly reason: unknown }): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#error = error;
    for (const waiter of this.#waiters.splice(0)) this.#settle(waiter);
  }

  /** The call is over: queued messages are dropped, and whoever reads on gets the reason, if there is one. */
  abort(error?: { readonly reason: unknown }): void {
    this.#dropQueue();
    if (this.#ended) this.#error ??= error;
    else this.end(error);
  }

  next(): Promise<IteratorResult<Message>> {
    const frame = this.#queue.shift();
    if (frame === undefined) {
      return new Promise((resolve, reject) => {
        const waiter: Waiter = { resolve, reject };
        if (this.#ended) this.#settle(waiter);
        else this.#waiters.push(waiter);
      });
    }
    this.#queuedBytes -= frame.bytes.length + FRAME_OVERHEAD_BYTES;
    if (this.#paused && this.#queuedBytes < RESUME_BELOW_BYTES) {
      this.#paused = false;
      this.#source.resume();
    }
    const result = this.#decode(frame);
    return result instanceof Promise ? result : Promise.resolve(result);
  }

  /** The implementation wants no more (a `break` in `for await`). */
  return(): Promise<IteratorResult<Message>> {
    this.#dropQueue();
    this.#error = undefined;
    this.end();
    this.#source.discard();
    return Promise.resolve(DONE);
  }

  #settle(waiter: Waiter): void {
    const error = this.#error;
    this.#error = undefined;
    if (error === undefined) waiter.resolve(DONE);
    else waiter.reject(error.reason);
  }

  /** No promise where none is needed: one that is resolved with another takes three turns of the queue. */
  #decode(frame: Frame): Result | Promise<Result> {
    try {
      const message = this.#source.decode(frame);
      if (!(message instanceof Promise)) return { done: false, value: message };
      return message.then(
        (value) => ({ done: false, value }),
        (error: unknown) => this.#giveUp(error),
      );
    } catch (error) {
      return this.#giveUp(error);
    }
  }

  async #giveUp(error: unknown): Promise<never> {
    await this.return();
    throw error;
  }

  #dropQueue(): void {
    this.#queue.length = 0;
    this.#queuedBytes = 0;
  }
}
