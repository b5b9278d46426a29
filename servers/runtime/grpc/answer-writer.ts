import type { OutgoingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { create, type DescMessage, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { CallState } from "./call-context.js";
import type { CallInit, CallServer } from "./call-init.js";
import { framePrefix, joinFrame } from "./frame-reader.js";
import { COMPRESS_FROM_BYTES, pack } from "./gzip.js";
import { addMetadata } from "./metadata.js";
import { HEADERS_ONLY, WITH_TRAILERS } from "./respond-options.js";
import { errorTrailers, OK_TRAILERS, okTrailers } from "./status.js";

/** Larger messages are written behind their prefix instead of being copied. */
const JOIN_BELOW_BYTES = 64 * 1024;

/** The answer side of one call: headers, messages, status. */
export class AnswerWriter {
  readonly #stream: ServerHttp2Stream;
  readonly #state: CallState;
  readonly #output: DescMessage;
  readonly #server: CallServer;
  readonly #init: CallInit;
  #trailers: OutgoingHttpHeaders = OK_TRAILERS;
  #headersSent = false;
  #closed = false;
  #wake: (() => void) | undefined;

  constructor(
    stream: ServerHttp2Stream,
    state: CallState,
    call: { readonly server: CallServer; readonly init: CallInit },
  ) {
    this.#stream = stream;
    this.#state = state;
    this.#output = state.method.output;
    this.#server = call.server;
    this.#init = call.init;
    stream.on("wantTrailers", () => {
      if (!stream.destroyed && !stream.closed) stream.sendTrailers(this.#trailers);
    });
  }

  /**
   * Writes one answer, a message or what makes one. Large compressed ones take a promise.
   *
   * @throws What the codec throws; ConnectError RESOURCE_EXHAUSTED over the send limit.
   */
  write(value: unknown): Promise<void> | undefined {
    const message = create(this.#output, value as MessageInitShape<DescMessage>);
    const bytes = this.#server.codec.encode(this.#output, message, this.#init.format);
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

  /** Resolves when the client has taken enough, or the call is over; undefined when there is room already. */
  room(): Promise<void> | undefined {
    if (!this.#stream.writableNeedDrain || this.#closed) return undefined;
    return new Promise((resolve) => {
      this.#wake = resolve;
      this.#stream.once("drain", resolve);
    });
  }

  /** Nothing is written any more but the status. */
  close(): void {
    this.#closed = true;
    this.#wake?.();
  }

  /** Ends the answer: with headers alone where an error comes first, with trailers otherwise. */
  sendStatus(error: ConnectError | undefined): void {
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

  #writeFrame(bytes: Uint8Array, compressed: boolean): void {
    const stream = this.#stream;
    if (this.#closed || stream.destroyed || stream.closed) return;
    this.#sendHeaders();
    if (bytes.length < JOIN_BELOW_BYTES) {
      stream.write(joinFrame(bytes, compressed));
      return;
    }
    stream.cork();
    stream.write(framePrefix(bytes.length, compressed));
    stream.write(bytes);
    stream.uncork();
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
}
