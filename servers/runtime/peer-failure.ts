import { create } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { CallError, InstanceChangedError } from "../../clients/index.js";
import { type Boundary, type Cause, CauseSchema, Delivery, FailureKind, Retry } from "../../gen/index.js";
import { fromMs } from "./duration.js";
import { cutText, OperationFailure } from "./failure.js";
import { isInstance } from "./is-instance.js";

/**
 * What a boundary saw of a call that failed (ALL-FAIL-007, ALL-FAIL-015). Without a word of the service the message is
 * some library's or proxy's: it may hold exception text or addresses, and goes into no answer (ALL-FAIL-003).
 */
export function causeOf(error: CallError, boundary: Boundary, kind?: FailureKind): Cause {
  return create(CauseSchema, {
    boundary,
    kind: error.failure?.kind ?? kind ?? FailureKind.UNSPECIFIED,
    rpc: error.rpc,
    code: error.code,
    delivery: error.delivery,
    reason: error.isUnknown && !error.byCaller ? "" : cutText(error.rawMessage, 300),
  });
}

/** Refusals that say that what was opened there is gone: retryable as SESSION_LOST (E6). */
const lostReasons = new Set(["SESSION_UNKNOWN", "SESSION_EXPIRED", "SESSION_CLOSED"]);

/** Codes without a word of the service that a peer or a connection in trouble gives; others would come again. */
const troubleCodes = new Set([
  Code.Canceled,
  Code.DeadlineExceeded,
  Code.ResourceExhausted,
  Code.Aborted,
  Code.Internal,
  Code.Unavailable,
]);

/** How a failed call of a peer is told. */
export interface PeerFailureOptions {
  readonly boundary: Boundary;
  /** Kind where the peer could not be reached or kept refusing. */
  readonly lost: FailureKind;
  /** Kind where the peer refused for good; absent: PROTOCOL_VIOLATION. */
  readonly refused?: FailureKind;
}

/**
 * The Failure of an operation whose peer failed it: the peer's own failure with a further cause; a session that is gone
 * or a changed instance is SESSION_LOST; a lost or refusing peer is worth another attempt; anything else is not (E6).
 */
export function failureOf(error: unknown, options: PeerFailureOptions): unknown {
  const { boundary } = options;
  if (isInstance(error, InstanceChangedError)) {
    return new OperationFailure({
      kind: FailureKind.SESSION_LOST,
      retry: Retry.NEW_ATTEMPT,
      reason: "the peer has lost its records: another instance answers",
      causes: [causeOf(error, boundary, FailureKind.SESSION_LOST)],
    });
  }
  if (!isInstance(error, CallError)) return error;
  const { failure } = error;
  if (failure !== undefined) {
    const cause = causeOf(error, boundary);
    return new OperationFailure({ ...failure, causes: [cause, ...failure.causes].slice(0, 8) });
  }
  if (error.reason !== undefined && lostReasons.has(error.reason)) {
    return new OperationFailure({
      kind: FailureKind.SESSION_LOST,
      retry: Retry.NEW_ATTEMPT,
      reason: `the peer no longer holds the session (${error.reason})`,
      causes: [causeOf(error, boundary, FailureKind.SESSION_LOST)],
    });
  }
  return error.isRefusal ? refusedBy(error, options) : lostBy(error, options);
}

/** A refusal that outlasted its repeats: what time may cure is worth another attempt, others would come again. */
function refusedBy(error: CallError, { boundary, lost, refused }: PeerFailureOptions): OperationFailure {
  const curable = error.retryAfterMs !== undefined;
  const kind = curable ? lost : (refused ?? FailureKind.PROTOCOL_VIOLATION);
  return new OperationFailure({
    kind,
    retry: curable ? Retry.NEW_ATTEMPT : Retry.NEVER,
    ...(error.retryAfterMs === undefined ? {} : { retryAfter: fromMs(error.retryAfterMs) }),
    reason: cutText(`${error.rpc} refused ${error.reason}: ${error.rawMessage}`, 2000),
    // EPI-E6-015: what was refused is passed on by name.
    detailsJson: JSON.stringify({
      refused: error.reason,
      fields: error.violations.slice(0, 20).map(({ field }) => cutText(field, 200)),
    }),
    causes: [causeOf(error, boundary, kind)],
  });
}

const deliveryText: Readonly<Partial<Record<Delivery, string>>> = {
  [Delivery.NOT_SENT]: "not sent",
  [Delivery.POSSIBLY_DELIVERED]: "possibly delivered",
  [Delivery.DELIVERED]: "delivered",
};

function codeText({ code, attempts, byCaller, rawMessage }: CallError): string {
  const named = Code[code] ?? `code ${code}`;
  const tries = attempts > 1 ? ` after ${attempts} attempts` : "";
  return `${named}${tries}${byCaller ? ` (${cutText(rawMessage, 1000)})` : ""}`;
}

/** A call without a word of the service: a peer or a connection in trouble, or an answer that would come again. */
function lostBy(error: CallError, { boundary, lost }: PeerFailureOptions): OperationFailure {
  // EPI-E6-002: what is too large, or was answered and cannot be read, is the same at every attempt.
  const unreadable = error.code === Code.Internal && error.delivery === Delivery.DELIVERED;
  const tooLarge = error.code === Code.ResourceExhausted && error.byCaller;
  const again = troubleCodes.has(error.code) && !unreadable && !tooLarge;
  const kind = again ? lost : FailureKind.PROTOCOL_VIOLATION;
  return new OperationFailure({
    kind,
    retry: again ? Retry.NEW_ATTEMPT : Retry.NEVER,
    reason: `${error.rpc} ended ${codeText(error)}, ${deliveryText[error.delivery] ?? "delivery unknown"}`,
    causes: [causeOf(error, boundary, kind)],
  });
}
