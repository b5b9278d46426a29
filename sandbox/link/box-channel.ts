import { BoxError } from "./box-error.js";
import { type FrameType, firstCredit, frameType, maxPayloadBytes } from "./frame.js";
import { BrokenStreamError } from "./frame-reader.js";

/** What comes over a channel. */
export interface ChannelFrame {
  readonly type: number;
  /** The payload, the reader's own. */
  readonly payload: Buffer;
}

interface Parts {
  readonly id: number;
  readonly reply: Promise<Buffer>;
  /** Bytes that the box may send before it is given more. */
  readonly credit: number;
  readonly send: (type: FrameType, payload?: Uint8Array) => void;
}

/** One conversation with the agent of a box that goes on after its REPLY, with credit both ways. */
export class BoxChannel {
  readonly id: number;
  /** What the REPLY says; rejects with BoxError where the box refuses. */
  readonly reply: Promise<Buffer>;
  readonly #send: Parts["send"];
  readonly #credit: number;
  /** Bytes that the box may still send. */
  #expected: number;
  /** Bytes that were read here and not credited yet. */
  #used = 0;
  /** Bytes that may still be sent. */
  #allowed = firstCredit;
  readonly #frames: ChannelFrame[] = [];
  #ended = false;
  #error: Error | undefined;
  #second: { resolve(payload: Buffer): void; reject(error: Error): void } | undefined;
  #result: Buffer | BoxError | undefined;
  #wake: (() => void) | undefined;
  #wakeWriter: (() => void) | undefined;
  #cancelled = false;

  constructor({ id, reply, credit, send }: Parts) {
    this.id = id;
    this.reply = reply;
    // Whoever only reads learns of a refusal by the end of the frames.
    reply.catch(() => {});
    this.#credit = credit;
    this.#expected = credit;
    this.#send = send;
  }

  /** What comes, until END; throws where that tells an error. Credit is given for what was taken. */
  async *frames(): AsyncGenerator<ChannelFrame> {
    for (;;) {
      const frame = this.#frames.shift();
      if (frame !== undefined) {
        yield frame;
        if (frame.type === frameType.data) this.#give(frame.payload.length);
        continue;
      }
      if (this.#error !== undefined) throw this.#error;
      if (this.#ended) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Sends bytes as credit comes. Throws where the channel has ended. */
  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      while (this.#allowed === 0 && !this.#ended) {
        await new Promise<void>((resolve) => {
          this.#wakeWriter = resolve;
        });
      }
      if (this.#ended) throw this.#error ?? new Error("the channel to the box has ended");
      const size = Math.min(this.#allowed, maxPayloadBytes, bytes.length - at);
      this.#allowed -= size;
      this.#send(frameType.data, bytes.subarray(at, at + size));
      at += size;
    }
  }

  /** What was sent is whole. */
  commit(): void {
    if (!this.#ended) this.#send(frameType.commit);
  }

  /** What was sent is whole; answers what came of it, which the second REPLY tells. */
  async finish(): Promise<Buffer> {
    this.commit();
    if (this.#result === undefined) {
      if (this.#ended) throw this.#error ?? new Error("the channel to the box has ended");
      return await new Promise((resolve, reject) => {
        this.#second = { resolve, reject };
      });
    }
    if (this.#result instanceof BoxError) throw this.#result;
    return this.#result;
  }

  /** No more is wanted; what is still under way is dropped. */
  cancel(): void {
    if (this.#ended || this.#cancelled) return;
    this.#cancelled = true;
    this.#frames.length = 0;
    this.#send(frameType.cancel);
  }

  /** A frame of the box. Throws BrokenStreamError where it sends more than it may. */
  take(type: number, payload: Buffer): void {
    if (type === frameType.credit) {
      if (payload.length !== 4) throw new BrokenStreamError("credit from the box that is no number");
      this.#allowed += payload.readUInt32LE(0);
      this.#wakeWriter?.();
      return;
    }
    if (type === frameType.data) {
      this.#expected -= payload.length;
      if (this.#expected < 0) throw new BrokenStreamError("the box sends more than it was given credit for");
    }
    if (this.#cancelled) return;
    this.#frames.push({ type, payload: Buffer.from(payload) });
    this.#wake?.();
  }

  /** The second REPLY. */
  takeReply(result: Buffer | BoxError): void {
    this.#result = result;
    if (this.#result instanceof BoxError) this.#second?.reject(this.#result);
    else this.#second?.resolve(this.#result);
    this.#finish(undefined);
  }

  /** The end of the channel, or of the whole stream. */
  takeEnd(error: Error | undefined): void {
    if (this.#ended) return;
    this.#second?.reject(error ?? new Error("the channel to the box has ended"));
    this.#finish(this.#cancelled ? undefined : error);
  }

  #finish(error: Error | undefined): void {
    this.#ended = true;
    this.#error = error;
    this.#wake?.();
    this.#wakeWriter?.();
  }

  #give(size: number): void {
    this.#used += size;
    if (this.#ended || this.#cancelled || this.#used < this.#credit / 4) return;
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32LE(this.#used);
    this.#expected += this.#used;
    this.#used = 0;
    this.#send(frameType.credit, bytes);
  }
}
