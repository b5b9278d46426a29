import type { DescMethod } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import type { Status } from "../gen/google/rpc/status_pb.js";
import { Delivery, type Failure } from "../gen/index.js";
import type { CallInfo, CallMetadata } from "./channel.js";
import { codeName } from "./code-name.js";
import { printable } from "./printable.js";
import {
  decodeStatusDetails,
  type FieldViolation,
  NO_DETAILS,
  readStatus,
  type StatusDetails,
} from "./status-details.js";

/** Full name of an rpc as `Cause.rpc` has it: `touchstone.v1.ModelService/Generate`. */
export function rpcName(method: DescMethod): string {
  return `${method.parent.typeName}/${method.name}`;
}

/** What a {@link CallError} is made of. */
export interface CallErrorInit {
  /** Full name of the rpc. */
  readonly rpc: string;
  /** URL of the endpoint. */
  readonly target: string;
  readonly code: Code;
  readonly message: string;
  readonly details: StatusDetails;
  readonly delivery: Delivery;
  readonly byCaller: boolean;
  readonly info: CallInfo;
  readonly cause?: unknown;
}

/** Longest name of an unknown reason in a message. */
const REASON_LENGTH = 64;

/**
 * A call that did not end well.
 *
 * Exactly one of `isRefusal`, `isRecordedFailure` and `isUnknown` holds (R4).
 */
export class CallError extends Error {
  override readonly name: string = "CallError";
  /** gRPC code. A number that has no name is kept. */
  readonly code: Code;
  /** The status message as it came; the peer's text, unescaped. */
  readonly rawMessage: string;
  /** Full name of the rpc: `touchstone.v1.ModelService/Generate`. */
  readonly rpc: string;
  /** URL of the endpoint. */
  readonly target: string;
  /** ErrorInfo.reason where its domain is ours: a name of `ErrorReason`, or one that a newer peer knows. */
  readonly reason: string | undefined;
  /** ErrorInfo.metadata where the domain is ours: `expected_index`, `limit`, `actual`, `field`, `feature` ... */
  readonly metadata: Readonly<Record<string, string>>;
  /** The refused fields. */
  readonly violations: readonly FieldViolation[];
  /** When the peer allows another try, in milliseconds; absent: it did not say. */
  readonly retryAfterMs: number | undefined;
  /** The recorded failure, with unknown enum numbers as they came. */
  readonly failure: Failure | undefined;
  /** `answer_id` of the failed operation. */
  readonly answerId: string | undefined;
  /** Whether the call had reached its peer (ALL-FAIL-015). */
  readonly delivery: Delivery;
  /**
   * The caller itself ended the call (signal, deadline) or could never have had an answer (size limit, a request
   * that has no encoding).
   */
  readonly byCaller: boolean;
  /** Headers and trailers, as far as they came. */
  readonly info: CallInfo;
  /** Attempts that were made in all; more than 1 where the call was repeated. */
  readonly attempts: number;

  constructor(init: CallErrorInit, attempts = 1) {
    const { details } = init;
    super(composeMessage(init, attempts), init.cause === undefined ? undefined : { cause: init.cause });
    this.code = init.code;
    this.rawMessage = init.message;
    this.rpc = init.rpc;
    this.target = init.target;
    this.reason = details.reason;
    this.metadata = details.metadata;
    this.violations = details.violations;
    this.retryAfterMs = details.retryAfterMs;
    this.failure = details.failure;
    this.answerId = details.metadata["answer_id"];
    this.delivery = init.delivery;
    this.byCaller = init.byCaller;
    this.info = init.info;
    this.attempts = attempts;
  }

  /** Turned away: nothing happened, nothing is recorded, no index is used, the name is free (R4). */
  get isRefusal(): boolean {
    return this.reason !== undefined && !this.isRecordedFailure;
  }

  /** The operation started and failed; a repeat replays the failure (ALL-REPEAT-003). */
  get isRecordedFailure(): boolean {
    return this.failure !== undefined || this.reason === "OPERATION_FAILED";
  }

  /** No word of the service: nothing is known, and only a repeat under the same name can tell (R4). */
  get isUnknown(): boolean {
    return this.reason === undefined && this.failure === undefined;
  }

  /** The same error, saying how many attempts led to it. */
  afterAttempts(attempts: number): CallError {
    if (attempts === this.attempts) return this;
    const { rpc, target, code, rawMessage: message, delivery, byCaller, info } = this;
    const { reason, metadata, violations, retryAfterMs, failure } = this;
    const details = { message, reason, metadata, violations, retryAfterMs, failure };
    return new CallError(
      { rpc, target, code, message, details, delivery, byCaller, info, cause: this.cause },
      attempts,
    );
  }
}

function composeMessage(init: CallErrorInit, attempts: number): string {
  const { reason } = init.details;
  const named = reason === undefined ? "" : `/${printable(reason, REASON_LENGTH)}`;
  const delivery = Delivery[init.delivery] ?? `DELIVERY_${init.delivery}`;
  const tries = attempts === 1 ? "" : ` after ${attempts} attempts`;
  const said = init.message === "" ? "" : `: ${printable(init.message)}`;
  return `${init.rpc} at ${init.target} ended ${codeName(init.code)}${named} (${delivery})${tries}${said}`;
}

/** How a call ended, without the service's own word. */
export interface CallEnding {
  readonly code: Code;
  readonly message: string;
  readonly delivery: Delivery;
  readonly byCaller: boolean;
  readonly cause?: unknown;
}

/** Where a call went, and what came with its answer. */
export interface CallPlace {
  readonly method: DescMethod;
  readonly target: string;
  readonly info: CallInfo;
}

/** The error of a call that ended so, its details read from the trailers. */
export function callError(place: CallPlace, end: CallEnding): CallError {
  const details = end.byCaller ? NO_DETAILS : detailsOf(place.info.trailers);
  const spoke = details.reason !== undefined || details.failure !== undefined;
  return new CallError({
    rpc: rpcName(place.method),
    target: place.target,
    code: end.code,
    message: details.message ?? end.message,
    details,
    delivery: spoke ? Delivery.DELIVERED : end.delivery,
    byCaller: end.byCaller,
    info: place.info,
    cause: end.cause,
  });
}

/** The error of an answer that carries a status inside a message, such as a refused step of a stream. */
export function callErrorOfStatus(place: CallPlace, status: Status): CallError {
  return new CallError({
    rpc: rpcName(place.method),
    target: place.target,
    code: status.code,
    message: status.message,
    details: readStatus(status),
    delivery: Delivery.DELIVERED,
    byCaller: false,
    info: place.info,
  });
}

function detailsOf(trailers: CallMetadata): StatusDetails {
  return decodeStatusDetails(trailers.get("grpc-status-details-bin"));
}

/** The call saw another instance than the one that the caller had to do with: what it opened there is lost (R14). */
export class InstanceChangedError extends CallError {
  override readonly name = "InstanceChangedError";
  /** The instance that the caller had to do with. */
  readonly expected: string;
  /** The instance that answered. */
  readonly found: string;

  /** @param answer - How the call ended there, where it did not end well. */
  constructor(
    place: CallPlace,
    instances: { readonly expected: string; readonly found: string },
    answer?: CallError,
  ) {
    super({
      rpc: rpcName(place.method),
      target: place.target,
      code: Code.Aborted,
      message:
        `expected instance "${printable(instances.expected, 128)}", found "${printable(instances.found, 128)}": ` +
        "what was opened before is lost; start a new attempt",
      details: NO_DETAILS,
      delivery: Delivery.DELIVERED,
      byCaller: false,
      info: place.info,
      cause: answer,
    });
    this.expected = instances.expected;
    this.found = instances.found;
  }

  /** The instances say it all, after however many attempts. */
  override afterAttempts(): this {
    return this;
  }
}
