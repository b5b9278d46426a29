import { Code } from "@connectrpc/connect";
import { type CallEnd, lostEnd, tooLargeEnd } from "./call-end.js";

/** Bytes before each message: one of flags, four of length (big endian). */
const PREFIX_BYTES = 5;
/** Longer messages are written beside their prefix, not copied behind it. */
const COPY_BELOW_BYTES = 16 * 1024;

/** The answer's bytes are no gRPC messages, or too large; `end` is how its call ends. */
export class FrameError extends Error {
  constructor(readonly end: CallEnd) {
    super(end.message);
  }
}

/**
 * Cuts answers into messages. Chunks are kept in a list and joined once, when a message is whole; one that lies in a
 * single chunk is not copied at all. The gRPC handler of servers/ has a reader of its own, for it stands alone: requests may
 * be compressed and are refused one by one, while here any fault ends the whole call.
 */
export class FrameReader {
  readonly #maxBytes: number;
  #chunks: Uint8Array[] = [];
  /** Bytes of the first chunk that are used up. */
  #offset = 0;
  #size = 0;
  /** Length of the message that has begun; -1 before its prefix is whole. */
  #length = -1;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  push(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
  }

  /** Whether a message has begun and is not whole. */
  get midMessage(): boolean {
    return this.#size > 0 || this.#length >= 0;
  }

  /**
   * The next whole message; undefined while there is none.
   *
   * @throws FrameError - A prefix that no message of ours has.
   */
  next(): Uint8Array | undefined {
    if (this.#length < 0) {
      if (this.#size < PREFIX_BYTES) return undefined;
      this.#length = this.#readPrefix(this.#take(PREFIX_BYTES));
    }
    if (this.#size < this.#length) return undefined;
    const message = this.#take(this.#length);
    this.#length = -1;
    return message;
  }

  #readPrefix([flags = 0, a = 0, b = 0, c = 0, d = 0]: Uint8Array): number {
    if (flags !== 0) {
      const found = flags === 1 ? "one that is flagged as compressed" : `flags ${flags}`;
      throw new FrameError(
        lostEnd(Code.Internal, `expected plain messages, as grpc-accept-encoding asks, found ${found}`),
      );
    }
    const length = a * 0x1000000 + ((b << 16) | (c << 8) | d);
    if (length > this.#maxBytes) throw new FrameError(tooLargeEnd(length, this.#maxBytes));
    return length;
  }

  #take(count: number): Uint8Array {
    this.#size -= count;
    const first = this.#chunks[0];
    const end = this.#offset + count;
    if (first === undefined || first.length < end) return this.#gather(count);
    const message = first.subarray(this.#offset, end);
    if (first.length === end) {
      this.#chunks.shift();
      this.#offset = 0;
    } else {
      this.#offset = end;
    }
    return message;
  }

  #gather(count: number): Uint8Array {
    const message = new Uint8Array(count);
    let filled = 0;
    let used = 0;
    while (filled < count) {
      const chunk = this.#chunks[used] ?? message;
      const part = chunk.subarray(this.#offset, this.#offset + count - filled);
      message.set(part, filled);
      filled += part.length;
      this.#offset += part.length;
      if (this.#offset === chunk.length) {
        used += 1;
        this.#offset = 0;
      }
    }
    this.#chunks.splice(0, used);
    return message;
  }
}

/** A message with its prefix, in the pieces that are to be written. */
export function frame(message: Uint8Array): readonly Uint8Array[] {
  const copied = message.length < COPY_BELOW_BYTES;
  const first = Buffer.allocUnsafe(copied ? PREFIX_BYTES + message.length : PREFIX_BYTES);
  first[0] = 0;
  first.writeUInt32BE(message.length, 1);
  if (!copied) return [first, message];
  first.set(message, PREFIX_BYTES);
  return [first];
}
