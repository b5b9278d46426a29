import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http2";
import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import type { MessageCodec, MessageFormat } from "./message-codec.js";
import type { RequestStream } from "./request-stream.js";

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
