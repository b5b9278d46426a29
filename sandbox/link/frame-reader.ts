import { type Frame, headBytes, maxPayloadBytes } from "./frame.js";

/** The other end of the stream broke a rule of the protocol; nothing that it says is believed any more. */
export class BrokenStreamError extends Error {
  override readonly name = "BrokenStreamError";
}

/** Cuts the frames out of what a box sends. What a box sends is hostile: nothing larger than a frame is ever gathered. */
export class FrameReader {
  #pieces: Buffer[] = [];
  #size = 0;

  /** Takes the next bytes, and gives every frame that is whole. Throws BrokenStreamError. */
  *read(bytes: Buffer): Generator<Frame> {
    this.#pieces.push(bytes);
    this.#size += bytes.length;
    while (this.#size >= headBytes) {
      const head = this.#front(headBytes);
      const size = head.readUInt32LE(0);
      if (size > maxPayloadBytes) throw new BrokenStreamError(`a frame of ${size} bytes from the box`);
      if (head.readUIntLE(5, 3) !== 0)
        throw new BrokenStreamError("a frame from the box has no head that is known");
      if (this.#size < headBytes + size) return;
      const whole = this.#front(headBytes + size);
      yield {
        type: whole.readUInt8(4),
        channel: whole.readUInt32LE(8),
        payload: whole.subarray(headBytes, headBytes + size),
      };
      this.#drop(headBytes + size);
    }
  }

  /** The first bytes in one piece, which hold at least as many as asked for. */
  #front(size: number): Buffer {
    const [first] = this.#pieces;
    if (first !== undefined && first.length >= size) return first;
    const joined = Buffer.concat(this.#pieces);
    this.#pieces = [joined];
    return joined;
  }

  #drop(size: number): void {
    const [first] = this.#pieces;
    this.#size -= size;
    if (first === undefined) return;
    if (first.length === size) this.#pieces.shift();
    else this.#pieces[0] = first.subarray(size);
  }
}
