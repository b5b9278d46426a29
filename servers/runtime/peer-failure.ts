import { create } from "@bufbuild/protobuf";
import { CallError, InstanceChangedError } from "../../clients/index.js";
import { type Boundary, type Cause, CauseSchema, FailureKind, Retry } from "../../gen/index.js";
import { fromMs } from "./duration.js";
import { cutText, OperationFailure } from "./failure.js";

/** What a boundary saw of a call that failed (ALL-FAIL-007, ALL-FAIL-015). */
export function causeOf(error: CallError, boundary: Boundary): Cause {
  return create(CauseSchema, {
    boundary,
    kind: error.failure?.kind ?? FailureKind.UNSPECIFIED,
    rpc: error.rpc,
    code: error.code,
    delivery: error.delivery,
    reason: cutText(error.rawMessage, 300),
  });
}

/** Refusals that say that what was opened there is gone: retryable as SESSION_LOST (E6). */
const lostReasons = new Set(["SESSION_UNKNOWN", "SESSION_EXPIRED", "SESSION_CLOSED"]);

/** How a failed call of a peer is told. */
export interface PeerFailureOptions {
  readonly boundary: Boundary;
  /** Kind where the peer could not be reached or kept refusing. */
  readonly lost: FailureKind;
}

/**
 * The Failure of an operation whose peer failed it: the peer's own failure with a further cause; a session that is gone
 * or a changed instance is SESSION_LOST; a lost or refusing peer is worth another attempt; anything else is not (E6).
 */
export function failureOf(error: unknown, { boundary, lost }: PeerFailureOptions): unknown {
  if (error instanceof InstanceChangedError) {
    return new OperationFailure({
      kind: FailureKind.SESSION_LOST,
      retry: Retry.NEW_ATTEMPT,
      reason: "the peer has lost its records: another instance answers",
      causes: [causeOf(error, boundary)],
    });
  }
  if (!(error instanceof CallError)) return error;
  const cause = causeOf(error, boundary);
  const { failure } = error;
  if (failure !== undefined) {
    return new OperationFailure({ ...failure, causes: [cause, ...failure.causes].slice(0, 8) });
  }
  if (error.reason !== undefined && lostReasons.has(error.reason)) {
    return new OperationFailure({
      kind: FailureKind.SESSION_LOST,
      retry: Retry.NEW_ATTEMPT,
      reason: `the peer no longer holds the session (${error.reason})`,
      causes: [cause],
    });
  }
  // What time may cure, or what nobody knows the end of, is worth another attempt; other refusals would come again.
  const retryable = !error.isRefusal || error.retryAfterMs !== undefined;
  return new OperationFailure({
    kind: retryable ? lost : FailureKind.PROTOCOL_VIOLATION,
    retry: retryable ? Retry.NEW_ATTEMPT : Retry.NEVER,
    ...(error.retryAfterMs === undefined ? {} : { retryAfter: fromMs(error.retryAfterMs) }),
    reason: cutText(`${error.rpc}: ${error.rawMessage}`, 2000),
    causes: [cause],
  });
}
