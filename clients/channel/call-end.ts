import { Code } from "@connectrpc/connect";
import { Delivery } from "../../gen/index.js";
import { printable } from "../printable.js";

/** How a call ended, as a transport saw it. */
export interface CallEnd {
  /** gRPC code; 0 is OK. A number that is no {@link Code} is kept. */
  readonly code: number;
  /** For people: what was expected, what was found, what to do. */
  readonly message: string;
  /** Whether the call had reached its peer. */
  readonly delivery: Delivery;
  /** The caller ended it, or could never have made it: abort, deadline, size limit, a request that has no encoding. */
  readonly byCaller: boolean;
  readonly cause?: unknown;
}

/** The code of a call that ended well. */
export const OK_CODE = 0;

/** A call that ended well. */
export const OK_END: CallEnd = { code: OK_CODE, message: "", delivery: Delivery.DELIVERED, byCaller: false };

/** An end that the transport saw: nothing is known of the operation. */
export function lostEnd(code: number, message: string, cause?: unknown): CallEnd {
  return { code, message, delivery: Delivery.POSSIBLY_DELIVERED, byCaller: false, cause };
}

/** An end before anything of the call was sent, for certain: a repeat under any name is safe. */
export function unsentEnd(message: string, cause?: unknown): CallEnd {
  return { code: Code.Unavailable, message, delivery: Delivery.NOT_SENT, byCaller: false, cause };
}

/** An answer above the limit: the peer has answered and would answer the same again. */
export function tooLargeEnd(actual: number | undefined, limit: number): CallEnd {
  const found = actual === undefined ? "a larger one" : `one of ${actual} bytes`;
  return {
    code: Code.ResourceExhausted,
    message: `expected answers of at most ${limit} bytes, found ${found}; raise maxMessageBytes of the channel`,
    delivery: Delivery.DELIVERED,
    byCaller: true,
  };
}

/** The end of a call whose metadata cannot be sent. */
export function unsendableEnd(cause: unknown): CallEnd {
  const found = cause instanceof Error ? cause.message : String(cause);
  return {
    code: Code.InvalidArgument,
    message: `the call's metadata cannot be sent: ${found}`,
    delivery: Delivery.NOT_SENT,
    byCaller: true,
    cause,
  };
}

/** gRPC's code for an HTTP status that came instead of a gRPC answer. */
export function codeOfHttpStatus(status: number): Code {
  switch (status) {
    case 400:
      return Code.Internal;
    case 401:
      return Code.Unauthenticated;
    case 403:
      return Code.PermissionDenied;
    case 404:
      return Code.Unimplemented;
    case 429:
    case 502:
    case 503:
    case 504:
      return Code.Unavailable;
    default:
      return Code.Unknown;
  }
}

const GRPC_CONTENT_TYPE = /^application\/grpc(?:[+;]|$)/;

/** Whether an answer of this content type is gRPC. */
export function isGrpc(contentType: string): boolean {
  return GRPC_CONTENT_TYPE.test(contentType);
}

/** The end of a call that something other than a gRPC server answered: a proxy, a web server. */
export function foreignEnd(status: number, contentType: string | undefined, body: string): CallEnd {
  const type = contentType === undefined ? "none" : `"${printable(contentType, 80)}"`;
  const said = body === "" ? "" : `, which says "${printable(body)}"`;
  return lostEnd(
    codeOfHttpStatus(status),
    `expected a gRPC answer, found HTTP status ${status} with content-type ${type}${said}; ` +
      "look for a proxy in between, or a server that does not speak gRPC there",
  );
}

/** HTTP/2 error codes by number (RFC 9113, section 7). */
const RESET_NAMES: readonly string[] = [
  "NO_ERROR",
  "PROTOCOL_ERROR",
  "INTERNAL_ERROR",
  "FLOW_CONTROL_ERROR",
  "SETTINGS_TIMEOUT",
  "STREAM_CLOSED",
  "FRAME_SIZE_ERROR",
  "REFUSED_STREAM",
  "CANCEL",
  "COMPRESSION_ERROR",
  "CONNECT_ERROR",
  "ENHANCE_YOUR_CALM",
  "INADEQUATE_SECURITY",
  "HTTP_1_1_REQUIRED",
];

/** Name of an HTTP/2 error code. */
export function resetName(code: number): string {
  return RESET_NAMES[code] ?? `error ${code}`;
}

/** HTTP/2 code of a stream that the peer has not looked at: the call may be made again. */
export const REFUSED_STREAM = 7;

/** The end of a call whose stream the peer reset before it told a status. */
export function resetEnd(code: number): CallEnd {
  const message = `expected a status, found the stream reset with ${resetName(code)}`;
  switch (RESET_NAMES[code]) {
    case "REFUSED_STREAM":
      return unsentEnd(`${message}: the server has not looked at the call`);
    case "CANCEL":
      return lostEnd(Code.Canceled, message);
    case "ENHANCE_YOUR_CALM":
      return lostEnd(Code.ResourceExhausted, message);
    case "INADEQUATE_SECURITY":
      return lostEnd(Code.PermissionDenied, message);
    default:
      return lostEnd(Code.Internal, message);
  }
}

/** Reads an abort reason: the platform's timeout helper means a passed deadline, never UNKNOWN (field case 3). */
export function endOfSignal(reason: unknown): { readonly code: Code; readonly message: string } {
  return reason instanceof Error && reason.name === "TimeoutError"
    ? { code: Code.DeadlineExceeded, message: "the caller's signal timed out before the answer came" }
    : { code: Code.Canceled, message: "the caller cancelled the call" };
}
