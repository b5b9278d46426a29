import type { DescMessage, DescMethod, MessageShape } from "@bufbuild/protobuf";
import { fromBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { Delivery } from "../../gen/index.js";
import { type CallError, callError } from "../call-error.js";
import { type CallInfo, type CallMetadata, type CallOptions, NO_INFO } from "../channel.js";
import type { Clock, Timer } from "../clock.js";
import { type CallEnd, endOfSignal, lostEnd, OK_CODE, OK_END, tooLargeEnd } from "./call-end.js";
import { encodeMessage } from "./encode-message.js";
import type { Transport, TransportCall, TransportCaller } from "./transport.js";

/** What the calls of a channel share. */
export interface CallScope {
  readonly transport: Transport;
  readonly clock: Clock;
  /** Largest message either way, in bytes. */
  readonly maxMessageBytes: number;
}

/**
 * What all kinds of calls have in common: the caller's deadline and signal, the size limit, encoding, and how an end
 * becomes an answer or a {@link CallError}.
 */
export abstract class Call<I extends DescMessage, O extends DescMessage> implements TransportCaller {
  readonly method: DescMethod & { readonly input: I; readonly output: O };
  readonly headers: Readonly<Record<string, string>> | undefined;
  protected readonly scope: CallScope;
  /** Set by {@link begin}; absent where the call ended before it began. */
  protected transportCall: TransportCall | undefined;
  /** The call has ended: nothing that the transport still tells counts. */
  protected over = false;
  protected messages = 0;
  readonly #deadlineAt: number | undefined;
  readonly #signal: AbortSignal | undefined;
  #timer: Timer | undefined;
  #requests: AsyncIterator<MessageShape<I>> | undefined;
  #headers: CallMetadata | undefined;
  #trailers: CallMetadata | undefined;

  constructor(
    scope: CallScope,
    method: DescMethod & { readonly input: I; readonly output: O },
    options: CallOptions,
  ) {
    this.scope = scope;
    this.method = method;
    this.headers = options.headers;
    this.#signal = options.signal;
    const { timeoutMs } = options;
    this.#deadlineAt =
      timeoutMs === undefined || timeoutMs === Number.POSITIVE_INFINITY
        ? undefined
        : scope.clock.now() + timeoutMs;
  }

  /** Takes a message; the call is not over. */
  protected abstract take(bytes: Uint8Array): void;
  /** Tells the caller that the call ended, well or not. Called once. */
  protected abstract settle(error: CallError | undefined): void;

  get info(): CallInfo {
    const trailers = this.#trailers ?? NO_INFO.trailers;
    return { headers: this.#headers ?? trailers, trailers };
  }

  /** Begins the call. `request` is the only message, or undefined where a stream of them follows. */
  protected begin(request: MessageShape<I> | undefined): void {
    if (this.#signal?.aborted) {
      this.endByCaller(endOfSignal(this.#signal.reason), this.#signal.reason);
      return;
    }
    const remaining = this.remainingMs();
    // Not (remaining > 0) is true for NaN too.
    if (remaining !== undefined && !(remaining > 0)) {
      this.#deadlinePassed();
      return;
    }
    const bytes = request === undefined ? undefined : this.encode(request);
    if (this.over) return;
    this.transportCall = this.scope.transport.start(this);
    if (bytes !== undefined) void this.transportCall.send(bytes, true);
    if (remaining !== undefined) {
      this.#timer = this.scope.clock.setTimer(remaining, () => this.#deadlinePassed());
    }
    this.#signal?.addEventListener("abort", this.#onAbort);
  }

  /** Begins the call and sends `requests` as fast as the peer takes them, until it has answered. */
  protected beginStreaming(requests: AsyncIterable<MessageShape<I>>): void {
    this.begin(undefined);
    if (!this.over) void this.#sendAll(requests[Symbol.asyncIterator]());
  }

  async #sendAll(requests: AsyncIterator<MessageShape<I>>): Promise<void> {
    this.#requests = requests;
    try {
      while (!this.over) {
        const next = await requests.next();
        if (this.over) return;
        if (next.done === true) {
          this.#requests = undefined;
          this.transportCall?.halfClose();
          return;
        }
        const bytes = this.encode(next.value);
        if (this.over) return;
        const room = this.transportCall?.send(bytes, false);
        if (room !== undefined) await room;
      }
    } catch (cause) {
      this.#requests = undefined;
      this.endByCaller({ code: Code.Canceled, message: "the requests to send ended with an error" }, cause);
    }
  }

  remainingMs(): number | undefined {
    return this.#deadlineAt === undefined ? undefined : this.#deadlineAt - this.scope.clock.now();
  }

  onHeaders(headers: CallMetadata): void {
    this.#headers = headers;
  }

  onMessage(bytes: Uint8Array): void {
    if (this.over) return;
    this.messages += 1;
    if (bytes.length > this.scope.maxMessageBytes) {
      this.fail(tooLargeEnd(bytes.length, this.scope.maxMessageBytes));
    } else {
      this.take(bytes);
    }
  }

  onEnd(end: CallEnd, trailers: CallMetadata | undefined): void {
    if (this.over) return;
    this.#trailers = trailers;
    this.#stop();
    this.settle(end.code === OK_CODE ? undefined : this.#error(end));
  }

  /** Ends the call from this side: the peer is told, and the caller gets an error. */
  protected fail(end: CallEnd): void {
    if (this.over) return;
    this.cancel();
    this.settle(this.#error(end));
  }

  /** Ends the call towards the peer; the caller is told nothing. */
  protected cancel(): void {
    if (this.over) return;
    this.transportCall?.cancel();
    this.#stop();
  }

  /** Ends the call in the caller's name. */
  protected endByCaller(said: { readonly code: Code; readonly message: string }, cause?: unknown): void {
    const call = this.transportCall;
    const waited = call?.waitsFor === undefined ? "" : `; it had waited for ${call.waitsFor}`;
    this.fail({
      code: said.code,
      message: `${said.message}${waited}`,
      delivery: call?.sent ? Delivery.POSSIBLY_DELIVERED : Delivery.NOT_SENT,
      byCaller: true,
      cause,
    });
  }

  /** The bytes of a request. Where it has none, or too many, the call is over. */
  protected encode(request: MessageShape<I>): Uint8Array {
    let bytes: Uint8Array;
    try {
      bytes = encodeMessage(this.method.input, request);
    } catch (cause) {
      const found = cause instanceof Error ? cause.message : String(cause);
      this.endByCaller(
        { code: Code.InvalidArgument, message: `the request cannot be encoded: ${found}` },
        cause,
      );
      return new Uint8Array(0);
    }
    const { maxMessageBytes } = this.scope;
    if (bytes.length > maxMessageBytes) {
      const message =
        `expected requests of at most ${maxMessageBytes} bytes, found one of ${bytes.length} bytes; ` +
        "send content by BlobService, or raise maxMessageBytes of the channel";
      this.endByCaller({ code: Code.ResourceExhausted, message });
    }
    return bytes;
  }

  /** The message of an answer, or the error of one that cannot be read. */
  protected decode(bytes: Uint8Array): MessageShape<O> | CallError {
    try {
      return fromBinary(this.method.output, bytes);
    } catch (cause) {
      return this.#error(
        lostEnd(Code.Internal, `expected a ${this.method.output.typeName}, found bytes that are none`, cause),
      );
    }
  }

  /** The error of a call that ended well, but not as its kind must. */
  protected violation(message: string): CallError {
    return this.#error({ ...OK_END, code: Code.Internal, message, delivery: Delivery.POSSIBLY_DELIVERED });
  }

  readonly #onAbort = (): void => {
    this.endByCaller(endOfSignal(this.#signal?.reason), this.#signal?.reason);
  };

  #deadlinePassed(): void {
    this.endByCaller({ code: Code.DeadlineExceeded, message: "no answer came before the call's deadline" });
  }

  #stop(): void {
    this.over = true;
    this.#timer?.cancel();
    this.#signal?.removeEventListener("abort", this.#onAbort);
    if (this.#requests !== undefined) void stopQuietly(this.#requests);
  }

  #error(end: CallEnd): CallError {
    const { method, info } = this;
    // Whoever has answered a message has had the call.
    const answered = this.messages > 0 && end.delivery === Delivery.POSSIBLY_DELIVERED;
    return callError(
      { method, target: this.scope.transport.target, info },
      answered ? { ...end, delivery: Delivery.DELIVERED } : end,
    );
  }
}

/** Tells the source of requests that no more are wanted. What it then throws is nobody's business any more. */
async function stopQuietly(requests: AsyncIterator<unknown>): Promise<void> {
  try {
    await requests.return?.();
  } catch {
    // The call has its end already.
  }
}
