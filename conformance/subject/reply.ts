import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.js";
import type { Status } from "../../gen/google/rpc/status_pb.js";
import { type Failure, FailureSchema } from "../../gen/index.js";

/** A status other than OK, its details read. */
export interface CallStatus {
  /** Name of the gRPC code, `FAILED_PRECONDITION`. */
  readonly code: string;
  /** The status message. */
  readonly message: string;
  /** ErrorInfo.domain; empty: there is no ErrorInfo. */
  readonly domain: string;
  /** ErrorInfo.reason; empty: there is no ErrorInfo. */
  readonly reason: string;
  /** ErrorInfo.metadata. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Paths that BadRequest names. */
  readonly fields: readonly string[];
  /** Descriptions of BadRequest's violations, in the order of `fields`. */
  readonly descriptions: readonly string[];
  /** Milliseconds of RetryInfo; undefined: none. */
  readonly retryMs: number | undefined;
  /** The recorded failure in the details. */
  readonly failure: Failure | undefined;
  /** Bytes of all details together. */
  readonly detailBytes: number;
}

/** How a call with one answer ended: `status` undefined means OK, and `message` is there. */
export type Reply<T> = ReplyMetadata &
  (
    | { readonly message: T; readonly status: undefined }
    | { readonly message: undefined; readonly status: CallStatus }
  );

/** What came around an answer. */
export interface ReplyMetadata {
  /** rpc, `EnvironmentService.Seed`. */
  readonly rpc: string;
  /** Response headers. */
  readonly headers: Headers;
  /** Response trailers. */
  readonly trailers: Headers;
}

/** How a stream of answers ended. */
export interface StreamReply<T> extends ReplyMetadata {
  /** What came, in order. */
  readonly messages: readonly T[];
  /** undefined: OK. */
  readonly status: CallStatus | undefined;
}

/** Names of codes as gRPC spells them. */
const codeNames: Readonly<Record<Code, string>> = {
  [Code.Canceled]: "CANCELLED",
  [Code.Unknown]: "UNKNOWN",
  [Code.InvalidArgument]: "INVALID_ARGUMENT",
  [Code.DeadlineExceeded]: "DEADLINE_EXCEEDED",
  [Code.NotFound]: "NOT_FOUND",
  [Code.AlreadyExists]: "ALREADY_EXISTS",
  [Code.PermissionDenied]: "PERMISSION_DENIED",
  [Code.ResourceExhausted]: "RESOURCE_EXHAUSTED",
  [Code.FailedPrecondition]: "FAILED_PRECONDITION",
  [Code.Aborted]: "ABORTED",
  [Code.OutOfRange]: "OUT_OF_RANGE",
  [Code.Unimplemented]: "UNIMPLEMENTED",
  [Code.Internal]: "INTERNAL",
  [Code.Unavailable]: "UNAVAILABLE",
  [Code.DataLoss]: "DATA_LOSS",
  [Code.Unauthenticated]: "UNAUTHENTICATED",
};

/** Name of a gRPC code. */
export function codeName(code: Code): string {
  return codeNames[code];
}

/** gRPC code of a number off the wire; UNKNOWN where there is none such. */
export function codeOfNumber(number: number): Code {
  return Code[number] === undefined ? Code.Unknown : (number as Code);
}

/** A stream that ended OK without its terminal event: a lost connection (R17). */
export function lostStream(events: number): CallStatus {
  return readStatus(Code.Unavailable, `the stream ended after ${events} events without its terminal one`, []);
}

/** A packed detail: name of its message, and its bytes. */
export interface StatusDetail {
  readonly type: string;
  readonly value: Uint8Array;
}

/** Reads the details of a status; one that cannot be decoded is as if it had not been sent. */
export function readStatus(code: Code, message: string, details: readonly StatusDetail[]): CallStatus {
  const first = <D extends DescMessage>(schema: D): MessageShape<D> | undefined => {
    const packed = details.find((detail) => detail.type === schema.typeName);
    if (packed === undefined) return undefined;
    try {
      return fromBinary(schema, packed.value);
    } catch {
      return undefined;
    }
  };
  const info = first(ErrorInfoSchema);
  const violations = first(BadRequestSchema)?.fieldViolations ?? [];
  const delay = first(RetryInfoSchema)?.retryDelay;
  return {
    code: codeName(code),
    message,
    domain: info?.domain ?? "",
    reason: info?.reason ?? "",
    metadata: info?.metadata ?? {},
    fields: violations.map((violation) => violation.field),
    descriptions: violations.map((violation) => violation.description),
    retryMs: delay === undefined ? undefined : Number(delay.seconds) * 1_000 + delay.nanos / 1e6,
    failure: first(FailureSchema),
    detailBytes: details.reduce((sum, detail) => sum + detail.value.byteLength, 0),
  };
}

const lostSocket: ReadonlySet<string> = new Set([
  "ECONNRESET",
  "EPIPE",
  "ECONNREFUSED",
  "ECONNABORTED",
  "ETIMEDOUT",
]);

/** How Node tells the streams of a connection that was cut. */
const resetStream = /stream closed with error code CANCEL/;

function socketCode(cause: unknown): string | undefined {
  if (typeof cause !== "object" || cause === null || !("code" in cause)) return undefined;
  return typeof cause.code === "string" ? cause.code : undefined;
}

/** Reads a status out of whatever a client library threw. */
export function statusOf(thrown: unknown): CallStatus {
  const error = ConnectError.from(thrown);
  // Node's errors of sockets become codes of the library's choice, ABORTED among them, which a server never sent.
  const lost = lostSocket.has(socketCode(error.cause) ?? "") || resetStream.test(error.rawMessage);
  if (lost) return readStatus(Code.Unavailable, error.rawMessage, []);
  const packed = error.details.filter((detail): detail is StatusDetail => "type" in detail);
  return readStatus(error.code, error.rawMessage, packed);
}

/** Reads a status that came as a message: a refused operation in a stream of steps. */
export function statusOfMessage(status: Status): CallStatus {
  return readStatus(codeOfNumber(status.code), status.message, unpackDetails(status));
}

/** Details of a google.rpc.Status. */
export function unpackDetails(status: Status): StatusDetail[] {
  return status.details.map(({ typeUrl, value }) => ({ type: typeUrl.replace(/^.*\//, ""), value }));
}

/** A status in one line. */
export function statusText(status: CallStatus | undefined): string {
  if (status === undefined) return "OK";
  const reason = status.reason === "" ? "no ErrorInfo" : status.reason;
  const fields = status.fields.length === 0 ? "" : ` at ${status.fields.join(", ")}`;
  const failure = status.failure === undefined ? "" : `, Failure: ${status.failure.reason}`;
  return `${status.code}/${reason}${fields} (${status.message})${failure}`;
}
