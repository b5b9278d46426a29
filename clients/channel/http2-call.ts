import { type ClientHttp2Stream, constants, type IncomingHttpHeaders } from "node:http2";
import { Code } from "@connectrpc/connect";
import type { CallMetadata } from "../channel.js";
import { printable } from "../printable.js";
import {
  type CallEnd,
  foreignEnd,
  isGrpc,
  lostEnd,
  OK_CODE,
  OK_END,
  REFUSED_STREAM,
  resetEnd,
  unsendableEnd,
} from "./call-end.js";
import { FrameError, FrameReader, frame } from "./frame-reader.js";
import { decodeGrpcMessage } from "./grpc-message.js";
import type { Http2Connection } from "./http2-connection.js";
import type { PoolWaiter } from "./stream-pool.js";
import type { TransportCall, TransportCaller } from "./transport.js";

/** What a call needs of its transport. */
export interface Http2CallHost {
  readonly maxMessageBytes: number;
  request(call: Http2Call): void;
  withdraw(call: Http2Call): void;
  release(connection: Http2Connection): void;
  waitsFor(): string;
  open(connection: Http2Connection, caller: TransportCaller): ClientHttp2Stream;
}

/** The call of a stream. A property instead of closures: four listeners a call are made once. */
const CALL = Symbol("call");
interface CallStream extends ClientHttp2Stream {
  [CALL]?: Http2Call;
}

/** Times that a call is made again where the peer says that it has not looked at it. */
const MAX_REFUSED = 3;
/** Characters of a web server's answer that go into the error. */
const BODY_CHARACTERS = 200;

/** Headers as Node gives them. */
class Http2Metadata implements CallMetadata {
  readonly #headers: IncomingHttpHeaders;

  constructor(headers: IncomingHttpHeaders) {
    this.#headers = headers;
  }

  get(name: string): string | undefined {
    const value = this.#headers[name];
    return typeof value === "string" ? value : value?.[0];
  }

  names(): string[] {
    return Object.keys(this.#headers).filter((name) => !name.startsWith(":"));
  }
}

/** One call on a stream of node:http2. */
export class Http2Call implements TransportCall, PoolWaiter<Http2Connection> {
  sent = false;
  readonly #host: Http2CallHost;
  readonly #caller: TransportCaller;
  readonly #reader: FrameReader;
  #stream: CallStream | undefined;
  #connection: Http2Connection | undefined;
  /** What is to be written when there is a stream; what was written, as long as the call may be made again. */
  #frames: Uint8Array[] = [];
  #halfClosed = false;
  #refused = 0;
  #over = false;
  #paused = false;
  /** Headers have come, and are not the end. */
  #answering = false;
  /** HTTP status, content type and beginning of an answer that is no gRPC. */
  #foreign: { status: number; contentType: string | undefined; body: string } | undefined;
  #trailers: IncomingHttpHeaders | undefined;
  #room: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined;

  constructor(host: Http2CallHost, caller: TransportCaller) {
    this.#host = host;
    this.#caller = caller;
    this.#reader = new FrameReader(host.maxMessageBytes);
  }

  get waitsFor(): string | undefined {
    return this.#stream === undefined && !this.#over ? this.#host.waitsFor() : undefined;
  }

  // From the pool.

  assign(connection: Http2Connection): void {
    let stream: CallStream;
    try {
      stream = this.#host.open(connection, this.#caller);
    } catch (error) {
      this.#host.release(connection);
      if (connection.state === "gone") this.#host.request(this);
      else process.nextTick(() => this.#end(unsendableEnd(error)));
      return;
    }
    this.#connection = connection;
    this.#stream = stream;
    this.sent = true;
    stream[CALL] = this;
    stream.on("response", onResponse);
    stream.on("data", onData);
    stream.on("trailers", onTrailers);
    stream.on("error", ignore);
    stream.on("close", onClose);
    if (this.#frames.length > 0 || this.#halfClosed) this.#write(this.#frames, this.#halfClosed);
    if (!this.#halfClosed) this.#frames = [];
    this.#giveRoom();
  }

  fail(end: CallEnd): void {
    this.#end(end);
  }

  // From the caller.

  send(bytes: Uint8Array, last: boolean): Promise<void> | undefined {
    const pieces = frame(bytes);
    this.#halfClosed = last;
    if (this.#stream === undefined || last) this.#frames.push(...pieces);
    if (this.#stream === undefined) return this.#waitForRoom();
    return this.#write(pieces, last) ? undefined : this.#waitForRoom();
  }

  halfClose(): void {
    this.#halfClosed = true;
    this.#stream?.end();
  }

  pause(): void {
    this.#paused = true;
    this.#stream?.pause();
  }

  resume(): void {
    this.#paused = false;
    this.#stream?.resume();
  }

  cancel(): void {
    if (this.#over) return;
    this.#over = true;
    this.#giveRoom();
    if (this.#stream === undefined) this.#host.withdraw(this);
    else this.#stream.close(constants.NGHTTP2_CANCEL);
  }

  // From the stream.

  onResponse(headers: IncomingHttpHeaders, endStream: boolean): void {
    this.#connection?.heard();
    if (endStream) {
      this.#finish(headers);
      return;
    }
    const contentType = headers["content-type"];
    if (contentType !== undefined && isGrpc(contentType)) {
      this.#answering = true;
      // The peer has looked at it: it is never made again.
      this.#frames = [];
      if (!this.#over) this.#caller.onHeaders(new Http2Metadata(headers));
    } else {
      this.#foreign = { status: Number(headers[":status"]), contentType, body: "" };
    }
  }

  onData(chunk: Uint8Array): void {
    this.#connection?.heard();
    if (this.#over) return;
    if (this.#foreign !== undefined) {
      if (this.#foreign.body.length < BODY_CHARACTERS)
        this.#foreign.body += Buffer.from(chunk).toString("utf8");
      return;
    }
    this.#reader.push(chunk);
    try {
      for (;;) {
        const message = this.#reader.next();
        if (message === undefined || this.#over) return;
        this.#caller.onMessage(message);
      }
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      this.#end(error.end);
      this.#stream?.close(constants.NGHTTP2_CANCEL);
    }
  }

  onTrailers(trailers: IncomingHttpHeaders): void {
    this.#connection?.heard();
    this.#trailers = trailers;
    // Messages that a paused stream holds back come before the end.
    if (this.#paused || this.#stream?.readableLength !== 0) this.#stream?.on("end", onReadEnd);
    else this.#finish(trailers);
  }

  onReadEnd(): void {
    if (this.#trailers !== undefined) this.#finish(this.#trailers);
  }

  onClose(): void {
    const { rstCode } = this.#stream ?? {};
    const connection = this.#connection;
    this.#stream = undefined;
    connection?.closed();
    if (connection !== undefined) this.#host.release(connection);
    if (this.#over) return;
    if (this.#trailers !== undefined) this.#finish(this.#trailers);
    else if (this.#foreign !== undefined) this.#finish({});
    else if (rstCode === REFUSED_STREAM && this.#again()) return;
    else if (rstCode !== REFUSED_STREAM && connection?.lost) {
      this.#end(lostEnd(Code.Unavailable, connection.lossMessage));
    } else if (rstCode === undefined || rstCode === constants.NGHTTP2_NO_ERROR) this.#finish({});
    else this.#end(resetEnd(rstCode));
  }

  onDrain(): void {
    this.#giveRoom();
  }

  /** Makes a call again that the peer has not looked at; only where all of it is still here. */
  #again(): boolean {
    this.#refused += 1;
    if (this.#refused > MAX_REFUSED || this.#frames.length === 0 || !this.#halfClosed) return false;
    this.sent = false;
    this.#host.request(this);
    return true;
  }

  /** Writes pieces of frames at once. Tells whether more may follow. */
  #write(pieces: readonly Uint8Array[], last: boolean): boolean {
    const stream = this.#stream;
    if (stream === undefined || stream.destroyed || stream.writableEnded) return true;
    const [only] = pieces;
    if (pieces.length === 1 && last) {
      stream.end(only);
      return true;
    }
    let room = true;
    stream.cork();
    for (const piece of pieces) room = stream.write(piece);
    if (last) stream.end();
    stream.uncork();
    return room;
  }

  #waitForRoom(): Promise<void> {
    if (this.#room === undefined) {
      let resolve = ignore;
      const promise = new Promise<void>((done) => {
        resolve = done;
      });
      this.#room = { promise, resolve };
    }
    if (this.#stream?.listenerCount("drain") === 0) this.#stream.on("drain", onDrain);
    return this.#room.promise;
  }

  #giveRoom(): void {
    this.#room?.resolve();
    this.#room = undefined;
  }

  /** Ends by what the last headers say. */
  #finish(trailers: IncomingHttpHeaders): void {
    if (this.#over) return;
    const said = trailers["grpc-status"];
    const metadata = new Http2Metadata(trailers);
    if (typeof said === "string" && /^\d+$/.test(said)) {
      const code = Number(said);
      if (code !== OK_CODE) {
        this.#end(lostEnd(code, decodeGrpcMessage(metadata.get("grpc-message"))), metadata);
      } else if (this.#reader.midMessage) {
        this.#end(lostEnd(Code.Internal, "expected whole messages, found an end inside one"), metadata);
      } else {
        this.#end(OK_END, metadata);
      }
    } else if (this.#foreign !== undefined || (!this.#answering && trailers[":status"] !== undefined)) {
      this.#end(this.#foreignEnd(trailers), metadata);
    } else {
      const found = said === undefined ? "none" : `"${printable(String(said), 40)}"`;
      this.#end(
        lostEnd(Code.Unknown, `expected a grpc-status at the end of the call, found ${found}`),
        metadata,
      );
    }
  }

  #foreignEnd(headers: IncomingHttpHeaders): CallEnd {
    const { status, contentType, body } = this.#foreign ?? {
      status: Number(headers[":status"]),
      contentType: headers["content-type"],
      body: "",
    };
    return foreignEnd(status, contentType, body.slice(0, BODY_CHARACTERS));
  }

  #end(end: CallEnd, trailers?: CallMetadata): void {
    if (this.#over) return;
    this.#over = true;
    this.#giveRoom();
    this.#frames = [];
    // The peer has answered before our end: it does not want the rest, and may never take it.
    const stream = this.#stream;
    if (stream !== undefined && (!stream.writableEnded || stream.writableLength > 0)) {
      stream.close(constants.NGHTTP2_CANCEL);
    }
    this.#caller.onEnd(end, trailers);
  }
}

const ignore = (): void => {};

function onResponse(this: CallStream, headers: IncomingHttpHeaders, flags: number): void {
  this[CALL]?.onResponse(headers, (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0);
}
function onData(this: CallStream, chunk: Uint8Array): void {
  this[CALL]?.onData(chunk);
}
function onTrailers(this: CallStream, trailers: IncomingHttpHeaders): void {
  this[CALL]?.onTrailers(trailers);
}
function onReadEnd(this: CallStream): void {
  this[CALL]?.onReadEnd();
}
function onClose(this: CallStream): void {
  this[CALL]?.onClose();
}
function onDrain(this: CallStream): void {
  this[CALL]?.onDrain();
}
