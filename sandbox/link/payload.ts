import { BoxError } from "./box-error.js";
import { BrokenStreamError } from "./frame-reader.js";

/** Puts the payload of a frame together, in the order of the protocol. */
export class PayloadWriter {
  readonly #parts: Buffer[] = [];

  u8(value: number): this {
    return this.#number(1, BigInt(value));
  }
  u16(value: number): this {
    return this.#number(2, BigInt(value));
  }
  u32(value: number): this {
    return this.#number(4, BigInt(value));
  }
  u64(value: number | bigint): this {
    return this.#number(8, BigInt(value));
  }

  /** A text behind its size. Throws BoxError for one with a NUL: nothing in a box can be named by that. */
  text(value: string): this {
    if (value.includes("\0")) throw new BoxError("EINVAL", "a text with a NUL");
    return this.sized(Buffer.from(value));
  }

  /** An absolute path. Throws BoxError for another one: the agent takes it for a broken host. */
  path(value: string): this {
    if (!value.startsWith("/"))
      throw new BoxError("EINVAL", `expected an absolute path, found ${JSON.stringify(value)}`);
    return this.text(value);
  }

  /** Bytes behind their size. */
  sized(value: Uint8Array): this {
    return this.u32(value.length).bytes(value);
  }

  /** Bytes as they are. */
  bytes(value: Uint8Array): this {
    this.#parts.push(Buffer.from(value.buffer, value.byteOffset, value.byteLength));
    return this;
  }

  done(): Buffer {
    return Buffer.concat(this.#parts);
  }

  #number(size: number, value: bigint): this {
    const at = Buffer.alloc(size);
    for (let i = 0; i < size; i += 1) at[i] = Number((value >> BigInt(8 * i)) & 0xffn);
    this.#parts.push(at);
    return this;
  }
}

/** Reads the payload of a frame from the box. Throws BrokenStreamError where something is missing. */
export class PayloadReader {
  #at = 0;

  constructor(private readonly payload: Buffer) {}

  u8(): number {
    return this.#take(1).readUInt8(0);
  }
  u16(): number {
    return this.#take(2).readUInt16LE(0);
  }
  u32(): number {
    return this.#take(4).readUInt32LE(0);
  }
  u64(): bigint {
    return this.#take(8).readBigUInt64LE(0);
  }
  i64(): bigint {
    return this.#take(8).readBigInt64LE(0);
  }

  /** A text's bytes, copied. */
  textBytes(): Buffer {
    return Buffer.from(this.#take(this.u32()));
  }

  /** What is left, copied. */
  rest(): Buffer {
    return Buffer.from(this.#take(this.payload.length - this.#at));
  }

  #take(size: number): Buffer {
    const end = this.#at + size;
    if (end > this.payload.length) throw new BrokenStreamError("a frame from the box is too short");
    const bytes = this.payload.subarray(this.#at, end);
    this.#at = end;
    return bytes;
  }
}
