import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import type { Any } from "@bufbuild/protobuf/wkt";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../gen/google/rpc/error_details_pb.js";
import { type Status, StatusSchema } from "../gen/google/rpc/status_pb.js";
import { type Failure, FailureSchema } from "../gen/index.js";

/** ErrorInfo.domain of every status that the contract makes. */
export const errorDomain = "touchstone";

/** A field of a request and what is wrong with it. */
export interface FieldViolation {
  /** Path in the request, such as `task.input[0].item_id`. */
  readonly field: string;
  readonly description: string;
}

/** What the details of a status say (R4). All of it is absent where the details are, or cannot be read. */
export interface StatusDetails {
  /** The status's own message, free of what header encodings do to it. */
  readonly message: string | undefined;
  /** ErrorInfo.reason where the domain is ours: a name of `ErrorReason`, or one that a newer peer knows. */
  readonly reason: string | undefined;
  /** ErrorInfo.metadata where the domain is ours. */
  readonly metadata: Readonly<Record<string, string>>;
  /** BadRequest. */
  readonly violations: readonly FieldViolation[];
  /** RetryInfo, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** The recorded failure. */
  readonly failure: Failure | undefined;
}

/** Details that say nothing. */
export const NO_DETAILS: StatusDetails = {
  message: undefined,
  reason: undefined,
  metadata: {},
  violations: [],
  retryAfterMs: undefined,
  failure: undefined,
};

/**
 * Reads trailer `grpc-status-details-bin`. What cannot be read is as if it had not been sent: no typed failure, no
 * permission to repeat, never an error.
 *
 * @param base64 - The trailer's value, padded or not.
 */
export function decodeStatusDetails(base64: string | undefined): StatusDetails {
  if (base64 === undefined) return NO_DETAILS;
  const status = decode(StatusSchema, Buffer.from(base64, "base64"));
  return status === undefined ? NO_DETAILS : readStatus(status);
}

/** Reads a status that came as a message, such as the answer of a refused step in a stream. */
export function readStatus(status: Status): StatusDetails {
  const info = unpack(status.details, ErrorInfoSchema).find((one) => one.domain === errorDomain);
  const delay = unpack(status.details, RetryInfoSchema)[0]?.retryDelay;
  return {
    message: status.message === "" ? undefined : status.message,
    reason: info === undefined || info.reason === "" ? undefined : info.reason,
    metadata: info?.metadata ?? {},
    violations: unpack(status.details, BadRequestSchema).flatMap((one) =>
      one.fieldViolations.map(({ field, description }) => ({ field, description })),
    ),
    retryAfterMs:
      delay === undefined ? undefined : Math.max(0, Number(delay.seconds) * 1000 + delay.nanos / 1e6),
    failure: unpack(status.details, FailureSchema)[0],
  };
}

function unpack<D extends DescMessage>(details: readonly Any[], schema: D): MessageShape<D>[] {
  return details
    .filter((detail) => detail.typeUrl.slice(detail.typeUrl.lastIndexOf("/") + 1) === schema.typeName)
    .flatMap((detail) => decode(schema, detail.value) ?? []);
}

function decode<D extends DescMessage>(schema: D, bytes: Uint8Array): MessageShape<D> | undefined {
  try {
    return fromBinary(schema, bytes);
  } catch {
    return undefined;
  }
}
