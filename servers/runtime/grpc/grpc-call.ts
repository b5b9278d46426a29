import {
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import { create, type DescMethod, type Message, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import { CallContext, CallState } from "./call-context.js";
import { type DeadlineTimer, startDeadline } from "./deadline.js";
import { type Frame, FrameReader, framePrefix, joinFrame } from "./frame-reader.js";
import { COMPRESS_FROM_BYTES, pack, unpack } from "./gzip.js";
import type { MessageCodec, MessageFormat } from "./message-codec.js";
import { addMetadata } from "./metadata.js";
import { RequestStream } from "./request-stream.js";
import { HEADERS_ONLY, WITH_TRAILERS } from "./respond-options.js";
import { errorTrailers, OK_TRAILERS, okTrailers } from "./status.js";
import { stopSender } from "./stop-sender.js";

/** Larger messages are written behind their prefix instead of being copied. */
const JOIN_BELOW_BYTES = 64 * 1024;

/**
 * grpc-js and node:http2 end their side before they reset a stream they cancel. An implementation that is told the
 * end at once would take a cancelled upload for a complete one, so it is told when no reset has followed. Measured
 * between two processes: at once, every cancel looks like an end; after 2 ms, about 1 in 600.
 */
const CANCEL_FOLLOWS_MS = 2;

/** How long a client that stopped reading has to take the status of a passed deadline. */
const UNREAD_STATUS_MS = 1_000;

/** A method with the function that implements it, bound to its object. */
export interface BoundMethod {
  readonly method: DescMethod;
  readonly implementation: (request: Message | RequestStream, context: HandlerContext) => unknown;
}

/** What all calls of one handler share. */
export interface CallServer {
  readonly codec: MessageCodec;
  readonly maxReceiveBytes: number;
  readonly maxSendBytes: number;
  onInternalError(method: DescMethod, error: unknown): void;
  onClose(call: GrpcCall): void;
}

/** What the headers of one call say. */
export interface CallInit {
  readonly headers: IncomingHttpHeaders;
  readonly format: MessageFormat;
  readonly timeoutMs: number | undefined;
  /** Requests may be gzip. */
  readonly unpackRequests: boolean;
  /** Answers are gzip where that pays. */
  readonly packAnswers: boolean;
  /** `:status`, `content-type` and `grpc-encoding` of the answer. */
  readonly responseHeaders: OutgoingHttpHeaders;
}

/** One gRPC call, from its headers to its status. */
export class GrpcCall {
  readonly #server: CallServer;
  readonly #bound: BoundMethod;
  readonly #stream: ServerHttp2Stream;
  readonly #init: CallInit;
  readonly #state: CallState;
  readonly #reader: FrameReader;
  #requests: RequestStream | undefined;
  #request: Frame | undefined;
  #output: AsyncIterator<unknown> | undefined;
  #deadline: DeadlineTimer | undefined;
  #wakeWriter: (() => void) | undefined;
  #trailers: OutgoingHttpHeaders = OK_TRAILERS;
  #headersSent = false;
  #remoteEnded = false;
  #inputClosed = false;
  #ended = false;

  constructor(server: CallServer, bound: BoundMethod, stream: ServerHttp2Stream, init: CallInit) {
    this.#server = server;
    this.#bound = bound;
    this.#stream = stream;
    this.#init = init;
    this.#state = new CallState(bound.method, init.headers, init.timeoutMs);
    this.#reader = new FrameReader(server.maxReceiveBytes, init.unpackRequests);
  }

  start(): void {
    const stream = this.#stream;
    // A reset with a code other than NO_ERROR and CANCEL is an 'error' too; 'close' follows and says all we need.
    stream.on("error", () => {});
    // 'aborted' is the earlier one but comes only while our side is open; 'close' always comes.
    stream.on("aborted", () => this.#onGone());
    stream.on("close", () => this.#onClose());
    stream.on("wantTrailers", () => this.#onWantTrailers());
    stream.on("data", (chunk: Buffer) => this.#onData(chunk));
    stream.on("end", () => this.#onEnd());
    if (this.#init.timeoutMs !== undefined) {
      this.#deadline = startDeadline(this.#init.timeoutMs, () => this.#onDeadline());
    }
    const { methodKind } = this.#bound.method;
    if (methodKind === "client_streaming" || methodKind === "bidi_streaming") {
      this.#requests = new RequestStream({
        decode: (frame) => this.#decode(frame),
        pause: () => stream.pause(),
        resume: () => stream.resume(),
        discard: () => this.#discardInput(),
      });
      this.#invoke(this.#requests);
    }
  }

  /** Ends the call with this status, unless it has ended. */
  abort(reason: ConnectError): void {
    this.#end(reason);
  }

  /** Fires the call's signal and lets the implementation decide how the call ends. */
  warn(reason: unknown): void {
    this.#state.abort(reason);
  }

  // Requests.

  #onData(chunk: Buffer): void {
    if (this.#inputClosed) return;
    this.#reader.push(chunk);
    try {
      for (let frame = this.#reader.next(); frame !== undefined; frame = this.#reader.next())
        this.#accept(frame);
    } catch (error) {
      this.#refuseInput(error);
    }
  }

  #accept(frame: Frame): void {
    if (this.#requests !== undefined) {
      this.#requests.push(frame);
    } else if (this.#request === undefined) {
      this.#request = frame;
    } else {
      throw new ConnectError(
        `protocol error: expected one request message for ${this.#bound.method.name}, found more`,
        Code.Unimplemented,
      );
    }
  }

  #onEnd(): void {
    this.#remoteEnded = true;
    if (this.#inputClosed) return;
    if (this.#reader.midMessage) {
      this.#refuseInput(
        new ConnectError("protocol error: the request body ended inside a message", Code.Internal),
      );
    } else if (this.#requests !== undefined) {
      const requests = this.#requests;
      setTimeout(() => requests.end(), CANCEL_FOLLOWS_MS).unref();
    } else if (this.#request === undefined) {
      this.#refuseInput(
        new ConnectError(
          `protocol error: expected one request message for ${this.#bound.method.name}, found none`,
          Code.Unimplemented,
        ),
      );
    } else {
      this.#invokeWith(this.#request);
    }
  }

  /** What was sent cannot be read further. A stream's implementation learns it in its turn. */
  #refuseInput(error: unknown): void {
    this.#discardInput();
    if (this.#requests === undefined) this.#fail(error);
    else this.#requests.end({ reason: error });
  }

  #discardInput(): void {
    this.#inputClosed = true;
    this.#reader.clear();
    if (!this.#remoteEnded) this.#stream.resume();
  }

  #decode(frame: Frame): Message | Promise<Message> {
    if (!frame.compressed) return this.#parse(frame.bytes);
    const plain = unpack(frame.bytes, this.#server.maxReceiveBytes);
    return plain instanceof Promise ? plain.then((bytes) => this.#parse(bytes)) : this.#parse(plain);
  }

  #parse(bytes: Uint8Array): Message {
    const { input } = this.#bound.method;
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

  // The implementation.

  #invokeWith(frame: Frame): void {
    try {
      const message = this.#decode(frame);
      if (message instanceof Promise) {
        message.then(
          (value) => {
            if (!this.#ended) this.#invoke(value);
          },
          (error: unknown) => this.#fail(error),
        );
      } else {
        this.#invoke(message);
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  #invoke(request: Message | RequestStream): void {
    let result: unknown;
    try {
      result = this.#bound.implementation(request, new CallContext(this.#state));
    } catch (error) {
      this.#fail(error);
      return;
    }
    const { methodKind } = this.#bound.method;
    if (methodKind === "server_streaming" || methodKind === "bidi_streaming") {
      void this.#pump(result as AsyncIterable<unknown>);
    } else if (result instanceof Promise) {
      result.then(
        (value: unknown) => this.#answer(value),
        (error: unknown) => this.#fail(error),
      );
    } else {
      this.#answer(result);
    }
  }

  /** The one answer of a call that has one. */
  #answer(value: unknown): void {
    if (this.#ended) return;
    try {
      const written = this.#write(value);
      if (written === undefined) this.#end();
      else written.then(() => this.#end()).catch((error: unknown) => this.#fail(error));
    } catch (error) {
      this.#fail(error);
    }
  }

  /** The answers of a streaming call, each taken when the one before has room. Never rejects. */
  async #pump(answers: AsyncIterable<unknown>): Promise<void> {
    try {
      const iterator = answers[Symbol.asyncIterator]();
      this.#output = iterator;
      for (;;) {
        const item = await this.#nextAnswer(iterator);
        if (this.#ended) return;
        if (item.done === true) {
          this.#output = undefined;
          this.#end();
          return;
        }
        const written = this.#write(item.value) ?? this.#roomToWrite();
        if (written !== undefined) await written;
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  async #nextAnswer(iterator: AsyncIterator<unknown>): Promise<IteratorResult<unknown>> {
    try {
      return await iterator.next();
    } catch (error) {
      // It is over by itself: return() is not owed to it.
      this.#output = undefined;
      throw error;
    }
  }

  // Answers.

  #write(value: unknown): Promise<void> | undefined {
    const { output } = this.#bound.method;
    const message = create(output, value as MessageInitShape<typeof output>);
    const bytes = this.#server.codec.encode(output, message, this.#init.format);
    if (bytes.length > this.#server.maxSendBytes) {
      throw new ConnectError(
        `an answer of ${bytes.length} bytes is over the send limit of ${this.#server.maxSendBytes} bytes`,
        Code.ResourceExhausted,
      );
    }
    if (!this.#init.packAnswers || bytes.length < COMPRESS_FROM_BYTES) {
      this.#writeFrame(bytes, false);
      return undefined;
    }
    const packed = pack(bytes);
    if (packed instanceof Promise) return packed.then((small) => this.#writeFrame(small, true));
    this.#writeFrame(packed, true);
    return undefined;
  }

  #writeFrame(bytes: Uint8Array, compressed: boolean): void {
    const stream = this.#stream;
    if (this.#ended || stream.destroyed || stream.closed) return;
    this.#sendHeaders();
    if (bytes.length < JOIN_BELOW_BYTES) {
      stream.write(joinFrame(bytes, compressed));
    } else {
      stream.cork();
      stream.write(framePrefix(bytes.length, compressed));
      stream.write(bytes);
      stream.uncork();
    }
  }

  /** Resolves when the client has taken enough, or the call is over; undefined when there is room already. */
  #roomToWrite(): Promise<void> | undefined {
    if (!this.#stream.writableNeedDrain || this.#ended) return undefined;
    return new Promise((resolve) => {
      this.#wakeWriter = resolve;
      this.#stream.once("drain", resolve);
    });
  }

  #sendHeaders(): void {
    if (this.#headersSent) return;
    this.#headersSent = true;
    let headers = this.#init.responseHeaders;
    if (this.#state.responseHeader !== undefined) {
      headers = { ...headers };
      addMetadata(headers, this.#state.responseHeader);
    }
    this.#stream.respond(headers, WITH_TRAILERS);
  }

  #onWantTrailers(): void {
    if (!this.#stream.destroyed && !this.#stream.closed) this.#stream.sendTrailers(this.#trailers);
  }

  // The end.

  #fail(error: unknown): void {
    if (this.#ended) {
      // A cancelled implementation may end in any ConnectError or AbortError; anything else is a fault to be seen.
      const expected =
        error instanceof ConnectError || (error instanceof Error && error.name === "AbortError");
      if (!expected) this.#server.onInternalError(this.#bound.method, error);
    } else if (error instanceof ConnectError) {
      this.#end(error);
    } else {
      this.#server.onInternalError(this.#bound.method, error);
      this.#end(new ConnectError("internal error", Code.Internal));
    }
  }

  #end(error?: ConnectError): void {
    if (this.#ended) return;
    this.#release(error);
    const stream = this.#stream;
    if (stream.destroyed || stream.closed) return;
    try {
      this.#sendStatus(error);
    } catch (fault) {
      this.#server.onInternalError(this.#bound.method, fault);
      stream.close(constants.NGHTTP2_INTERNAL_ERROR);
      return;
    }
    if (this.#remoteEnded) return;
    stream.resume();
    stopSender(stream);
  }

  #sendStatus(error: ConnectError | undefined): void {
    const { responseHeader, responseTrailer } = this.#state;
    const trailers =
      error === undefined ? okTrailers(responseTrailer) : errorTrailers(error, responseTrailer);
    if (error !== undefined && !this.#headersSent) {
      const headers = { ...this.#init.responseHeaders };
      if (!addMetadata(headers, responseHeader)) {
        this.#headersSent = true;
        this.#stream.respond({ ...headers, ...trailers }, HEADERS_ONLY);
        return;
      }
    }
    this.#sendHeaders();
    this.#trailers = trailers;
    this.#stream.end();
  }

  /** Lets go of everything that waits for this call. */
  #release(error: ConnectError | undefined): void {
    this.#ended = true;
    this.#inputClosed = true;
    this.#request = undefined;
    this.#reader.clear();
    this.#state.abort(error);
    this.#requests?.abort(error === undefined ? undefined : { reason: error });
    const output = this.#output;
    this.#output = undefined;
    if (output !== undefined) void this.#returnOutput(output);
    this.#wakeWriter?.();
  }

  /** Runs the `finally` of an answer generator that will not be asked again. */
  async #returnOutput(output: AsyncIterator<unknown>): Promise<void> {
    try {
      await output.return?.();
    } catch (error) {
      this.#fail(error);
    }
  }

  #onDeadline(): void {
    this.#end(this.#deadlinePassed());
    // The status waits behind messages that the client does not read: then a reset is all that reaches it.
    if (this.#stream.writableLength > 0) {
      this.#deadline = startDeadline(UNREAD_STATUS_MS, () => this.#stream.close(constants.NGHTTP2_CANCEL));
    }
  }

  #deadlinePassed(): ConnectError {
    return new ConnectError(`the deadline of ${this.#init.timeoutMs} ms has passed`, Code.DeadlineExceeded);
  }

  #onGone(): void {
    if (this.#ended) return;
    // A client resets the call at its own deadline, which may reach us a moment before our timer fires.
    this.#release(
      this.#state.nearDeadline
        ? this.#deadlinePassed()
        : new ConnectError("the client cancelled the call or went away", Code.Canceled),
    );
  }

  #onClose(): void {
    this.#onGone();
    this.#deadline?.stop();
    this.#server.onClose(this);
  }
}
