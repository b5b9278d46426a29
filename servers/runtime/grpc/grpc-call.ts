import { constants, type ServerHttp2Stream } from "node:http2";
import type { Message } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { AnswerWriter } from "./answer-writer.js";
import { CallContext, CallState } from "./call-context.js";
import type { BoundMethod, CallInit, CallServer } from "./call-init.js";
import { type DeadlineTimer, startDeadline } from "./deadline.js";
import { RequestReader } from "./request-reader.js";
import type { RequestStream } from "./request-stream.js";
import { stopSender } from "./stop-sender.js";

/** How long a client that stopped reading has to take the status of a passed deadline. */
const UNREAD_STATUS_MS = 1_000;

/** One gRPC call, from its headers to its status. */
export class GrpcCall {
  readonly #server: CallServer;
  readonly #bound: BoundMethod;
  readonly #stream: ServerHttp2Stream;
  readonly #state: CallState;
  readonly #reader: RequestReader;
  readonly #writer: AnswerWriter;
  #output: AsyncIterator<unknown> | undefined;
  #deadline: DeadlineTimer | undefined;
  #ended = false;

  constructor(server: CallServer, bound: BoundMethod, call: { stream: ServerHttp2Stream; init: CallInit }) {
    const { stream, init } = call;
    this.#server = server;
    this.#bound = bound;
    this.#stream = stream;
    this.#state = new CallState(bound.method, init.headers, init.timeoutMs);
    this.#writer = new AnswerWriter(stream, this.#state, { server, init });
    this.#reader = new RequestReader(
      stream,
      { onRequest: (request) => this.#invoke(request), onFault: (error) => this.#fail(error) },
      { method: bound.method, server, init },
    );
  }

  /** @param onClosed - Called once, when the stream is closed for both sides. */
  start(onClosed: () => void): void {
    const stream = this.#stream;
    // A reset with a code other than NO_ERROR and CANCEL is an 'error' too; 'close' follows and says all we need.
    stream.on("error", () => {});
    // 'aborted' is the earlier one but comes only while our side is open; 'close' always comes.
    stream.on("aborted", () => this.#onGone());
    stream.on("close", () => {
      this.#onGone();
      this.#deadline?.stop();
      onClosed();
    });
    const { timeoutMs } = this.#state;
    if (timeoutMs !== undefined) this.#deadline = startDeadline(timeoutMs, () => this.#onDeadline());
    this.#reader.start();
  }

  /** Ends the call with this status, unless it has ended. */
  abort(reason: ConnectError): void {
    this.#end(reason);
  }

  /** Fires the call's signal and lets the implementation decide how the call ends. */
  warn(reason: unknown): void {
    this.#state.abort(reason);
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
    } else if (isThenable(result)) {
      result.then(
        (value) => this.#answer(value),
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
      const written = this.#writer.write(value);
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
        let item: IteratorResult<unknown>;
        try {
          item = await iterator.next();
        } catch (error) {
          // It is over by itself: return() is not owed to it.
          this.#output = undefined;
          throw error;
        }
        if (this.#ended) return;
        if (item.done === true) {
          this.#output = undefined;
          this.#end();
          return;
        }
        const written = this.#writer.write(item.value) ?? this.#writer.room();
        if (written === undefined) continue;
        await written;
        if (this.#ended) return;
      }
    } catch (error) {
      this.#fail(error);
    }
  }

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
      this.#writer.sendStatus(error);
    } catch (fault) {
      this.#server.onInternalError(this.#bound.method, fault);
      stream.close(constants.NGHTTP2_INTERNAL_ERROR);
      return;
    }
    if (this.#reader.remoteEnded) return;
    stream.resume();
    stopSender(stream);
  }

  /** Lets go of everything that waits for this call. */
  #release(error: ConnectError | undefined): void {
    this.#ended = true;
    this.#state.abort(error);
    this.#reader.close(error);
    this.#writer.close();
    const output = this.#output;
    this.#output = undefined;
    if (output !== undefined) void this.#returnOutput(output);
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
    return new ConnectError(`the deadline of ${this.#state.timeoutMs} ms has passed`, Code.DeadlineExceeded);
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
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
