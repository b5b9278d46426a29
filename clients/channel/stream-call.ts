import type { DescMessage, DescMethod, MessageShape } from "@bufbuild/protobuf";
import { CallError } from "../call-error.js";
import type { CallOptions, ResponseStream } from "../channel.js";
import { Call, type CallScope } from "./call.js";

/** Answers that wait for their reader: above this the peer is slowed down, below half of it it goes on. */
const HIGH_WATER_BYTES = 1024 * 1024;
/** What a waiting answer costs beside its bytes. */
const OVERHEAD_BYTES = 64;

/** Read answers that may stay in the list before it is made anew. */
const COMPACT_FROM = 1024;

interface Reader<T> {
  resolve(result: IteratorResult<T, undefined>): void;
  reject(error: CallError): void;
}

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined };

/** A call with many answers. They are decoded when they are read. */
export class StreamCall<I extends DescMessage, O extends DescMessage>
  extends Call<I, O>
  implements ResponseStream<MessageShape<O>>, AsyncIterator<MessageShape<O>, undefined>
{
  #waiting: Uint8Array[] = [];
  /** Index of the first answer of {@link #waiting} that was not read. */
  #next = 0;
  #waitingBytes = 0;
  #paused = false;
  #readers: Reader<MessageShape<O>>[] = [];
  /** What is told behind the last answer; undefined once it was, or where all is well. */
  #error: CallError | undefined;

  /** @param requests - The request, or a stream of them. */
  constructor(
    scope: CallScope,
    method: DescMethod & { readonly input: I; readonly output: O },
    requests: { readonly one: MessageShape<I> } | { readonly many: AsyncIterable<MessageShape<I>> },
    options: CallOptions = {},
  ) {
    super(scope, method, options);
    if ("one" in requests) this.begin(requests.one);
    else this.beginStreaming(requests.many);
  }

  [Symbol.asyncIterator](): AsyncIterator<MessageShape<O>, undefined> {
    return this;
  }

  next(): Promise<IteratorResult<MessageShape<O>, undefined>> {
    const bytes = this.#shift();
    if (bytes !== undefined) {
      const message = this.#read(bytes);
      return message instanceof CallError
        ? Promise.reject(message)
        : Promise.resolve({ done: false, value: message });
    }
    if (!this.over) return new Promise((resolve, reject) => this.#readers.push({ resolve, reject }));
    const error = this.#error;
    this.#error = undefined;
    return error === undefined ? Promise.resolve(DONE) : Promise.reject(error);
  }

  /** The reader has had enough: the call ends. */
  return(): Promise<IteratorResult<MessageShape<O>, undefined>> {
    this.#leave();
    return Promise.resolve(DONE);
  }

  protected take(bytes: Uint8Array): void {
    const reader = this.#readers.shift();
    if (reader !== undefined) {
      const message = this.#read(bytes);
      if (message instanceof CallError) reader.reject(message);
      else reader.resolve({ done: false, value: message });
      return;
    }
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length + OVERHEAD_BYTES;
    if (this.#waitingBytes > HIGH_WATER_BYTES && !this.#paused) {
      this.#paused = true;
      this.transportCall?.pause();
    }
  }

  protected settle(error: CallError | undefined): void {
    // What came before the peer's end is read first; the caller's own end takes effect at once.
    if (error?.byCaller) this.#forget();
    const reader = this.#readers.shift();
    if (error === undefined || reader === undefined) {
      this.#error = error;
      reader?.resolve(DONE);
    } else {
      reader.reject(error);
    }
    for (const other of this.#readers.splice(0)) other.resolve(DONE);
  }

  #shift(): Uint8Array | undefined {
    const bytes = this.#waiting[this.#next];
    if (bytes === undefined) return undefined;
    this.#next += 1;
    this.#waitingBytes -= bytes.length + OVERHEAD_BYTES;
    if (this.#next === this.#waiting.length || this.#next > COMPACT_FROM) {
      this.#waiting = this.#waiting.slice(this.#next);
      this.#next = 0;
    }
    if (this.#paused && this.#waitingBytes < HIGH_WATER_BYTES / 2) {
      this.#paused = false;
      this.transportCall?.resume();
    }
    return bytes;
  }

  /** Decodes an answer; behind one that cannot be read nothing more is told. */
  #read(bytes: Uint8Array): MessageShape<O> | CallError {
    const message = this.decode(bytes);
    if (message instanceof CallError) this.#leave();
    return message;
  }

  #leave(): void {
    this.cancel();
    this.#forget();
    this.#error = undefined;
    for (const reader of this.#readers.splice(0)) reader.resolve(DONE);
  }

  #forget(): void {
    this.#waiting = [];
    this.#next = 0;
    this.#waitingBytes = 0;
  }
}
