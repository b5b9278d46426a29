import type { Duplex } from "node:stream";
import { BoxChannel } from "./box-channel.js";
import { BoxError } from "./box-error.js";
import {
  type Frame,
  type FrameType,
  firstCredit,
  frameHead,
  frameType,
  maxExecBytes,
  maxPayloadBytes,
} from "./frame.js";
import { BrokenStreamError, FrameReader } from "./frame-reader.js";
import { PayloadReader } from "./payload.js";

/** The protocol's version that is spoken here. */
const version = 1;

/** First number of the channels that the box begins. */
const firstOfBox = 0x8000_0000;

/** What the agent of a box says first. */
export interface Hello {
  readonly uid: number;
  readonly gid: number;
  /** Home of its user in the box. */
  readonly home: string;
}

/** Told of a connection that somebody in the box made to a port that the host listens on there. */
export type OnConnection = (connection: BoxChannel) => void;

/**
 * The host's end of the stream to the agent of a box: many conversations at once, each with credit of its own
 * (`sandbox/agent/PROTOCOL.md`). What comes from the box is hostile; what breaks the protocol ends the stream, and with it the
 * box.
 */
export class BoxLink {
  /** Resolves with the agent's greeting. Rejects where the stream ends before, or another program is at its end. */
  readonly hello: Promise<Hello>;
  /** Resolves when the stream has ended, with why. Never rejects. */
  readonly ended: Promise<Error>;
  readonly #stream: Duplex;
  readonly #frames = new FrameReader();
  readonly #replies = new Map<number, { resolve(payload: Buffer): void; reject(error: unknown): void }>();
  readonly #channels = new Map<number, BoxChannel>();
  readonly #listeners = new Map<number, OnConnection>();
  #next = 1;
  #nextOfBox = firstOfBox;
  #end: Error | undefined;
  #greet: (hello: Hello) => void = () => {};
  #refuse: (error: Error) => void = () => {};
  #finish: (why: Error) => void = () => {};
  #greeted = false;

  constructor(stream: Duplex) {
    this.#stream = stream;
    this.hello = new Promise((resolve, reject) => {
      this.#greet = resolve;
      this.#refuse = reject;
    });
    this.hello.catch(() => {});
    this.ended = new Promise((resolve) => {
      this.#finish = resolve;
    });
    stream.on("data", (bytes: Buffer) => this.#take(bytes));
    stream.on("error", (error) => this.close(error));
    stream.on("end", () => this.close(new Error("the stream to the box has ended")));
    stream.on("close", () => this.close(new Error("the stream to the box was closed")));
  }

  /** Why the stream has ended; undefined while it lives. */
  get end(): Error | undefined {
    return this.#end;
  }

  /** Asks, and answers what the REPLY says behind its error. Rejects with BoxError, or with why the stream ended. */
  request(type: FrameType, payload: Uint8Array): Promise<Buffer> {
    return this.ask(type, payload).reply;
  }

  /** Asks for what goes on after its REPLY. The channel is there at once; its `reply` tells whether it is open. */
  open(type: FrameType, payload: Uint8Array, credit = firstCredit): BoxChannel {
    const { id, reply } = this.ask(type, payload);
    const channel = new BoxChannel({ id, reply, credit, send: (of, bytes) => this.#send(of, id, bytes) });
    this.#channels.set(id, channel);
    reply.then(undefined, (error) => {
      this.#channels.delete(id);
      channel.takeEnd(error instanceof Error ? error : new Error(String(error)));
    });
    return channel;
  }

  /** Listens on a port of the box's loopback; 0: any. Answers the port, and what ends it. */
  async listen(port: number, onConnection: OnConnection): Promise<{ port: number; close(): void }> {
    const payload = Buffer.alloc(2);
    payload.writeUInt16LE(port);
    const { id, reply } = this.ask(frameType.listen, payload);
    this.#listeners.set(id, onConnection);
    try {
      return {
        port: new PayloadReader(await reply).u16(),
        close: () => {
          if (this.#listeners.delete(id)) this.#send(frameType.cancel, id);
        },
      };
    } catch (error) {
      this.#listeners.delete(id);
      throw error;
    }
  }

  /** Without another lease by then, the agent ends the box. 0: it waits for ever. */
  lease(ms: number): void {
    const payload = Buffer.alloc(8);
    payload.writeBigUInt64LE(BigInt(Math.max(0, Math.round(ms))));
    this.#send(frameType.lease, 0, payload);
  }

  /** Has the agent end everything, then the stream. */
  stop(): void {
    if (this.#end !== undefined) return;
    this.#send(frameType.stop, 0);
    this.#stream.end();
  }

  /** Ends the stream, and all conversations with this error. */
  close(why: Error): void {
    if (this.#end !== undefined) return;
    this.#end = why;
    this.#stream.destroy();
    this.#refuse(why);
    for (const { reject } of this.#replies.values()) reject(why);
    this.#replies.clear();
    for (const channel of this.#channels.values()) channel.takeEnd(why);
    this.#channels.clear();
    this.#listeners.clear();
    this.#finish(why);
  }

  /** Asks under a number that is told: what is asked for is named by it. */
  ask(type: FrameType, payload: Uint8Array): { id: number; reply: Promise<Buffer> } {
    const most = type === frameType.exec ? maxExecBytes : maxPayloadBytes;
    if (payload.length > most) throw new BoxError("E2BIG", `${payload.length} bytes, of ${most}`);
    const id = this.#next;
    this.#next += 1;
    const reply = this.#expect(id);
    if (this.#end === undefined) this.#send(type, id, payload);
    return { id, reply };
  }

  /** The next REPLY on a channel. */
  #expect(id: number): Promise<Buffer> {
    if (this.#end !== undefined) return Promise.reject(this.#end);
    return new Promise((resolve, reject) => this.#replies.set(id, { resolve, reject }));
  }

  #send(type: FrameType, channel: number, payload?: Uint8Array): void {
    if (this.#end !== undefined) return;
    const head = frameHead(type, channel, payload?.length ?? 0);
    if (payload === undefined || payload.length === 0) {
      this.#stream.write(head);
    } else if (payload.length < 2048) {
      this.#stream.write(Buffer.concat([head, payload]));
    } else {
      this.#stream.cork();
      this.#stream.write(head);
      this.#stream.write(payload);
      this.#stream.uncork();
    }
  }

  #take(bytes: Buffer): void {
    try {
      for (const frame of this.#frames.read(bytes)) {
        if (this.#end !== undefined) return;
        this.#frame(frame);
      }
    } catch (error) {
      this.close(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #frame(frame: Frame): void {
    const { type, channel: id, payload } = frame;
    if (!this.#greeted) {
      this.#hello(frame);
      return;
    }
    switch (type) {
      case frameType.reply:
        this.#reply(id, payload);
        return;
      case frameType.accept:
        this.#accept(id, payload);
        return;
      case frameType.data:
      case frameType.credit:
      case frameType.commit:
      case frameType.gap:
      case frameType.exit: {
        const channel = this.#channels.get(id);
        if (channel !== undefined) channel.take(type, payload);
        else this.#crossed(id);
        return;
      }
      case frameType.end:
        this.#endOf(id, payload);
        return;
      default:
        throw new BrokenStreamError(`a frame of unknown type ${type} from the box`);
    }
  }

  #hello({ type, channel, payload }: Frame): void {
    const reader = new PayloadReader(payload);
    if (type !== frameType.hello || channel !== 0 || reader.u32() !== 0x58425354)
      throw new BrokenStreamError("what is at the other end of the stream is no box agent");
    const spoken = reader.u16();
    if (spoken !== version)
      throw new BrokenStreamError(`the box agent speaks version ${spoken}, not ${version}`);
    this.#greeted = true;
    this.#greet({ uid: reader.u32(), gid: reader.u32(), home: reader.textBytes().toString() });
  }

  #reply(id: number, payload: Buffer): void {
    const waiting = this.#replies.get(id);
    if (waiting === undefined) {
      // The second REPLY of a channel tells what came of it, and ends it.
      const channel = this.#channels.get(id);
      if (channel === undefined) throw new BrokenStreamError("a REPLY from the box that nobody asked for");
      const error = new PayloadReader(payload).u32();
      this.#channels.delete(id);
      channel.takeReply(error === 0 ? Buffer.from(payload.subarray(4)) : BoxError.of(payload));
      return;
    }
    // Read before it is forgotten who waits: what is cut ends the stream, and everybody on it.
    const error = new PayloadReader(payload).u32();
    this.#replies.delete(id);
    if (error === 0) waiting.resolve(Buffer.from(payload.subarray(4)));
    else waiting.reject(BoxError.of(payload));
  }

  #accept(id: number, payload: Buffer): void {
    if (id !== this.#nextOfBox) throw new BrokenStreamError("a connection from the box out of its order");
    this.#nextOfBox += 1;
    const onConnection = this.#listeners.get(new PayloadReader(payload).u32());
    const reply = Promise.resolve(Buffer.alloc(0));
    const channel = new BoxChannel({
      id,
      reply,
      credit: firstCredit,
      send: (type, bytes) => this.#send(type, id, bytes),
    });
    this.#channels.set(id, channel);
    // It may have crossed the end of its port.
    if (onConnection === undefined) channel.cancel();
    else onConnection(channel);
  }

  #endOf(id: number, payload: Buffer): void {
    const channel = this.#channels.get(id);
    if (channel === undefined) {
      this.#crossed(id);
      return;
    }
    const error = new PayloadReader(payload).u32();
    this.#channels.delete(id);
    channel.takeEnd(error === 0 ? undefined : BoxError.of(payload));
  }

  /** A frame on a channel that is not there: fine where it was there once. */
  #crossed(id: number): void {
    const known = id >= firstOfBox ? id < this.#nextOfBox : id < this.#next && id !== 0;
    if (!known) throw new BrokenStreamError("a frame from the box on a channel that never was");
  }
}
