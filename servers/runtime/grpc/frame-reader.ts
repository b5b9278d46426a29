import { Code, ConnectError } from "@connectrpc/connect";

/** Bytes before each message: one of flags, four of length (big endian). */
export const FRAME_PREFIX_BYTES = 5;

/** One length-prefixed message as it came from the network. */
export interface Frame {
  readonly compressed: boolean;
  readonly bytes: Uint8Array;
}

const NO_BYTES = new Uint8Array(0);

/**
 * Cuts a byte stream into length-prefixed messages.
 *
 * Chunks are kept in a list and joined once, when the message is complete; a message that lies in one chunk is
 * not copied at all. The length is checked against the limit before anything is buffered for it.
 */
export class FrameReader {
  readonly #chunks: Uint8Array[] = [];
  readonly #maxBytes: number;
  readonly #compressionAllowed: boolean;
  #offset = 0;
  #size = 0;
  #length = -1;
  #compressed = false;

  /**
   * @param maxBytes - The largest message, in bytes on the wire.
   * @param compressionAllowed - Whether the caller named an encoding; without one a set flag is an error.
   */
  constructor(maxBytes: number, compressionAllowed: boolean) {
    this.#maxBytes = maxBytes;
    this.#compressionAllowed = compressionAllowed;
  }

  push(chunk: Uint8Array): void {
    if (chunk.length === 0) return;
    this.#chunks.push(chunk);
    this.#size += chunk.length;
  }

  /** Whether a message has been begun and not completed. */
  get midMessage(): boolean {
    return this.#size > 0 || this.#length >= 0;
  }

  /**
   * The next complete message, or undefined while there is none.
   *
   * @throws ConnectError - RESOURCE_EXHAUSTED over the limit, INTERNAL for flags that are not allowed.
   */
  next(): Frame | undefined {
    if (this.#length < 0) {
      if (this.#size < FRAME_PREFIX_BYTES) return undefined;
      this.#readPrefix();
    }
    if (this.#size < this.#length) return undefined;
    const bytes = this.#take(this.#length);
    this.#length = -1;
    return { compressed: this.#compressed, bytes };
  }

  /** Forgets everything. */
  clear(): void {
    this.#chunks.length = 0;
    this.#offset = 0;
    this.#size = 0;
    this.#length = -1;
  }

  #readPrefix(): void {
    const first = this.#chunks[0] ?? NO_BYTES;
    const inFirst = first.length - this.#offset >= FRAME_PREFIX_BYTES;
    const prefix = inFirst ? first : this.#gather(FRAME_PREFIX_BYTES);
    const at = inFirst ? this.#offset : 0;
    const flags = prefix[at] ?? 0;
    const length =
      (prefix[at + 1] ?? 0) * 0x1000000 +
      (((prefix[at + 2] ?? 0) << 16) | ((prefix[at + 3] ?? 0) << 8) | (prefix[at + 4] ?? 0));
    if (inFirst) this.#skip(first, FRAME_PREFIX_BYTES);
    else this.#size -= FRAME_PREFIX_BYTES;
    if (flags > 1) {
      throw new ConnectError(
        `protocol error: expected message flags 0 or 1, found ${flags}; send gRPC length-prefixed messages`,
        Code.Internal,
      );
    }
    if (flags === 1 && !this.#compressionAllowed) {
      throw new ConnectError(
        "protocol error: a message is flagged as compressed but grpc-encoding names no compression; name it or send the message plain",
        Code.Internal,
      );
    }
    if (length > this.#maxBytes) {
      throw new ConnectError(
        `a message of ${length} bytes is over the receive limit of ${this.#maxBytes} bytes; send a smaller one`,
        Code.ResourceExhausted,
      );
    }
    this.#compressed = flags === 1;
    this.#length = length;
  }

  #take(count: number): Uint8Array {
    if (count === 0) return NO_BYTES;
    const first = this.#chunks[0] ?? NO_BYTES;
    const end = this.#offset + count;
    if (first.length >= end) {
      const slice = first.subarray(this.#offset, end);
      this.#skip(first, count);
      return slice;
    }
    this.#size -= count;
    return this.#gather(count);
  }

  /** Goes on behind so many bytes of the first chunk. */
  #skip(first: Uint8Array, count: number): void {
    this.#size -= count;
    this.#offset += count;
    if (this.#offset < first.length) return;
    this.#chunks.shift();
    this.#offset = 0;
  }

  #gather(count: number): Uint8Array {
    const out = Buffer.allocUnsafeSlow(count);
    let filled = 0;
    let used = 0;
    for (const chunk of this.#chunks) {
      const part = chunk.subarray(this.#offset, this.#offset + count - filled);
      out.set(part, filled);
      filled += part.length;
      if (this.#offset + part.length < chunk.length) {
        this.#offset += part.length;
        break;
      }
      this.#offset = 0;
      used++;
      if (filled === count) break;
    }
    // #offset now belongs to the chunk that stays first.
    this.#chunks.splice(0, used);
    return out;
  }
}

/** A message with its prefix, in one buffer. */
export function joinFrame(bytes: Uint8Array, compressed: boolean): Buffer {
  const frame = Buffer.allocUnsafe(FRAME_PREFIX_BYTES + bytes.length);
  writePrefix(frame, bytes.length, compressed);
  frame.set(bytes, FRAME_PREFIX_BYTES);
  return frame;
}

/** The prefix of a message alone, for messages too large to be copied behind it. */
export function framePrefix(length: number, compressed: boolean): Buffer {
  const prefix = Buffer.allocUnsafe(FRAME_PREFIX_BYTES);
  writePrefix(prefix, length, compressed);
  return prefix;
}

function writePrefix(target: Buffer, length: number, compressed: boolean): void {
  target[0] = compressed ? 1 : 0;
  target.writeUInt32BE(length, 1);
}
