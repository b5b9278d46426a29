import type { OutgoingHttpHeaders } from "node:http2";
import { create, toBinary } from "@bufbuild/protobuf";
import { type Any, AnySchema, anyPack } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { StatusSchema } from "../../../gen/google/rpc/status_pb.js";
import { addMetadata } from "./metadata.js";

/** Trailers of a call that ended well and set none. */
export const OK_TRAILERS: OutgoingHttpHeaders = Object.freeze({ "grpc-status": "0" });

/**
 * The largest trailer block that is sent. HTTP/2 peers refuse 64 KiB and more, and the status with it: details,
 * then the service's own trailers, give way first.
 */
const MAX_TRAILER_BYTES = 60 * 1024;
/** Of the encoded message, where every byte may take three. */
const MAX_MESSAGE_BYTES = 24 * 1024;

/** The trailers of a call that ended well. */
export function okTrailers(custom: Headers | undefined): OutgoingHttpHeaders {
  if (custom === undefined) return OK_TRAILERS;
  const trailers: OutgoingHttpHeaders = { "grpc-status": "0" };
  addMetadata(trailers, custom);
  return blockBytes(trailers) > MAX_TRAILER_BYTES
    ? errorTrailers(
        new ConnectError(
          `the trailers of the answer are over ${MAX_TRAILER_BYTES} bytes; the service must send fewer`,
          Code.Internal,
        ),
        undefined,
      )
    : trailers;
}

/**
 * The trailers of a call that failed: `grpc-status`, `grpc-message`, and `grpc-status-details-bin` (google.rpc.Status)
 * where the error has details, with the error's metadata and the service's trailers.
 */
export function errorTrailers(error: ConnectError, custom: Headers | undefined): OutgoingHttpHeaders {
  const code = error.code in Code ? error.code : Code.Unknown;
  const status: OutgoingHttpHeaders = { "grpc-status": String(code) };
  const message = encodeGrpcMessage(cutMessage(error.rawMessage));
  if (message !== "") status["grpc-message"] = message;
  const trailers: OutgoingHttpHeaders = { ...status };
  addMetadata(trailers, custom);
  addMetadata(trailers, error.metadata);
  if (error.details.length > 0) {
    trailers["grpc-status-details-bin"] = encodeDetails(error, code);
    if (blockBytes(trailers) > MAX_TRAILER_BYTES) delete trailers["grpc-status-details-bin"];
  }
  return blockBytes(trailers) > MAX_TRAILER_BYTES ? status : trailers;
}

/**
 * Percent-encodes a status message as gRPC asks: `%` and whatever is outside space to tilde, nothing else, so that
 * clients that undo less than a URL decoder show `/ : ,` as they were. A lone surrogate becomes U+FFFD.
 */
export function encodeGrpcMessage(message: string): string {
  if (/^[ -$&-~]*$/.test(message)) return message;
  let out = "";
  for (const byte of Buffer.from(message, "utf8")) {
    out +=
      byte >= 0x20 && byte <= 0x7e && byte !== 0x25
        ? String.fromCharCode(byte)
        : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return out;
}

/** A message whose encoded form is not too long, cut between characters if need be. */
function cutMessage(message: string): string {
  if (message.length * 3 <= MAX_MESSAGE_BYTES) return message;
  const bytes = Buffer.from(message, "utf8");
  if (bytes.length * 3 <= MAX_MESSAGE_BYTES) return message;
  // A decoder that expects more drops the begun character at the end.
  return `${new TextDecoder().decode(bytes.subarray(0, MAX_MESSAGE_BYTES / 3), { stream: true })}...`;
}

function encodeDetails(error: ConnectError, code: Code): string {
  const details = error.details.map(
    (detail): Any =>
      "desc" in detail
        ? anyPack(detail.desc, create(detail.desc, detail.value))
        : create(AnySchema, { typeUrl: `type.googleapis.com/${detail.type}`, value: detail.value }),
  );
  const status = create(StatusSchema, { code, message: error.rawMessage, details });
  return Buffer.from(toBinary(StatusSchema, status)).toString("base64").replace(/=+$/, "");
}

/** The size of a header block as HTTP/2 counts it: 32 bytes a line besides its text. */
function blockBytes(headers: OutgoingHttpHeaders): number {
  let bytes = 0;
  for (const [name, value] of Object.entries(headers)) {
    for (const line of [value].flat()) bytes += name.length + String(line).length + 32;
  }
  return bytes;
}
