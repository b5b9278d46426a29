import type { ServerHttp2Stream } from "node:http2";
import type { DescMethod, Message } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { CallInit, CallServer } from "./call-init.js";
import { type Frame, FrameReader } from "./frame-reader.js";
import { unpack } from "./gzip.js";
import { RequestStream } from "./request-stream.js";

/**
 * grpc-js and node:http2 end their side before they reset a stream they cancel. An implementation that is told the
 * end at once would take a cancelled upload for a complete one, so it is told when no reset has followed. Measured
 * between two processes: at once, every cancel looks like an end; after 2 ms, about 1 in 600.
 */
const CANCEL_FOLLOWS_MS = 2;

/** Who a {@link RequestReader} reads for. */
export interface RequestReceiver {
  /** The one request is there, or the requests may begin. */
  onRequest(request: Message | RequestStream): void;
  /** The one request cannot be had. The faults of a request stream are given out by its iteration. */
  onFault(error: unknown): void;
}

/** The request side of one call. */
export class RequestReader {
  readonly #stream: ServerHttp2Stream;
  readonly #method: DescMethod;
  readonly #server: CallServer;
  readonly #init: CallInit;
  readonly #receiver: RequestReceiver;
  readonly #frames: FrameReader;
  #requests: RequestStream | undefined;
  #request: Frame | undefined;
  #closed = false;
  #remoteEnded = false;

  constructor(
    stream: ServerHttp2Stream,
    receiver: RequestReceiver,
    call: { readonly method: DescMethod; readonly server: CallServer; readonly init: CallInit },
  ) {
    this.#stream = stream;
    this.#method = call.method;
    this.#server = call.server;
    this.#init = call.init;
    this.#receiver = receiver;
    this.#frames = new FrameReader(call.server.maxReceiveBytes, call.init.unpackRequests);
  }

  /** Whether the client has ended its side. */
  get remoteEnded(): boolean {
    return this.#remoteEnded;
  }

  start(): void {
    const stream = this.#stream;
    stream.on("data", (chunk: Buffer) => this.#onData(chunk));
    stream.on("end", () => this.#onEnd());
    const { methodKind } = this.#method;
    if (methodKind !== "client_streaming" && methodKind !== "bidi_streaming") return;
    this.#requests = new RequestStream({
      decode: (frame) => this.#decode(frame),
      pause: () => stream.pause(),
      resume: () => stream.resume(),
      discard: () => this.#discard(),
    });
    this.#receiver.onRequest(this.#requests);
  }

  /** The call is over: nothing is read any more, and whoever iterates gets the error, if there is one. */
  close(error: ConnectError | undefined): void {
    this.#closed = true;
    this.#request = undefined;
    this.#frames.clear();
    this.#requests?.abort(error === undefined ? undefined : { reason: error });
  }

  #onData(chunk: Buffer): void {
    if (this.#closed) return;
    this.#frames.push(chunk);
    try {
      for (let frame = this.#frames.next(); frame !== undefined; frame = this.#frames.next()) {
        this.#accept(frame);
      }
    } catch (error) {
      this.#refuse(error);
    }
  }

  #accept(frame: Frame): void {
    if (this.#requests !== undefined) {
      this.#requests.push(frame);
    } else if (this.#request === undefined) {
      this.#request = frame;
    } else {
      throw new ConnectError(
        `protocol error: expected one request message for ${this.#method.name}, found more`,
        Code.Unimplemented,
      );
    }
  }

  #onEnd(): void {
    this.#remoteEnded = true;
    if (this.#closed) return;
    if (this.#frames.midMessage) {
      this.#refuse(
        new ConnectError("protocol error: the request body ended inside a message", Code.Internal),
      );
    } else if (this.#requests !== undefined) {
      const requests = this.#requests;
      setTimeout(() => requests.end(), CANCEL_FOLLOWS_MS).unref();
    } else if (this.#request === undefined) {
      this.#refuse(
        new ConnectError(
          `protocol error: expected one request message for ${this.#method.name}, found none`,
          Code.Unimplemented,
        ),
      );
    } else {
      this.#deliver(this.#request);
    }
  }

  #deliver(frame: Frame): void {
    let message: Message | Promise<Message>;
    try {
      message = this.#decode(frame);
    } catch (error) {
      this.#receiver.onFault(error);
      return;
    }
    if (message instanceof Promise) {
      message.then(
        (value) => {
          if (!this.#closed) this.#receiver.onRequest(value);
        },
        (error: unknown) => this.#receiver.onFault(error),
      );
    } else {
      this.#receiver.onRequest(message);
    }
  }

  /** What was sent cannot be read further. The implementation of a stream learns it in its turn. */
  #refuse(error: unknown): void {
    this.#discard();
    if (this.#requests === undefined) this.#receiver.onFault(error);
    else this.#requests.end({ reason: error });
  }

  #discard(): void {
    this.#closed = true;
    this.#frames.clear();
    if (!this.#remoteEnded) this.#stream.resume();
  }

  #decode(frame: Frame): Message | Promise<Message> {
    if (!frame.compressed) return this.#parse(frame.bytes);
    const plain = unpack(frame.bytes, this.#server.maxReceiveBytes);
    return plain instanceof Promise ? plain.then((bytes) => this.#parse(bytes)) : this.#parse(plain);
  }

  #parse(bytes: Uint8Array): Message {
    const { input } = this.#method;
    try {
      return this.#server.codec.decode(input, bytes, this.#init.format);
    } catch (error) {
      if (error instanceof ConnectError) throw error;
      const found = error instanceof Error ? error.message : String(error);
      throw new ConnectError(
        `expected a ${input.typeName} in ${this.#init.format}: ${found}`,
        Code.InvalidArgument,
      );
    }
  }
}
