import { create } from "@bufbuild/protobuf";
import { CallError } from "../clients/index.js";
import {
  Boundary,
  type EpisodeOutcome,
  type Failure,
  FailureKind,
  FailureSchema,
  Retry,
  Stage,
} from "../gen/index.js";
import { cutText, OperationFailure } from "../servers/runtime/failure.js";
import { failureOf } from "../servers/runtime/peer-failure.js";
import { oneLine } from "./error-text.js";

/**
 * The failure of an outcome. One that holds neither verdict nor failure is a failure too (ALL-FAIL-006), and so is a
 * reward that is no number (EPI-OUT-010).
 */
export function failureOfOutcome({ outcome }: EpisodeOutcome): Failure | undefined {
  switch (outcome.case) {
    case "verdict": {
      const { reward } = outcome.value;
      if (reward === undefined || Number.isFinite(reward.value)) return undefined;
      return create(FailureSchema, {
        kind: FailureKind.INVALID_REWARD,
        stage: Stage.VERIFY,
        retry: Retry.NEVER,
        reason: `expected a finite reward, found ${reward.value}`,
      });
    }
    case "failure":
      return outcome.value;
    case undefined:
      return create(FailureSchema, {
        kind: FailureKind.PROTOCOL_VIOLATION,
        stage: Stage.UNSPECIFIED,
        retry: Retry.NEVER,
        reason: "expected an outcome with a verdict or a failure, found neither that is known here",
      });
  }
}

/** Longest reason of a failure, in bytes; the contract's bound. */
const reasonBytes = 2000;
/** Refusals of a driver that has no place now. */
const admissionReasons = new Set(["CAPACITY", "ADMISSION_TIMEOUT", "DRAINING"]);

/** The failure of an episode whose server gave no outcome: it refused, was lost, or was given up. */
export function failureOfCall(error: unknown, abandon: AbortSignal): Failure {
  if (!(error instanceof CallError)) {
    return create(FailureSchema, {
      kind: FailureKind.PROTOCOL_VIOLATION,
      retry: Retry.NEVER,
      reason: `what the episode server answered could not be read: ${oneLine(error)}`,
    });
  }
  if (error.byCaller && abandon.aborted) {
    return create(FailureSchema, {
      kind: FailureKind.CANCELLED,
      retry: Retry.NEW_ATTEMPT,
      reason: `given up without an outcome of the episode server: ${String(abandon.reason)}`,
    });
  }
  const told = failureOf(error, { boundary: Boundary.COLLECTOR, lost: FailureKind.UNAVAILABLE });
  if (!(told instanceof OperationFailure)) throw told;
  const { failure } = told;
  // To the run's own files nothing is foreign: what the library or a proxy said helps to find out what is wrong.
  failure.reason = cutText(error.message, reasonBytes);
  if (failure.stage === Stage.UNSPECIFIED) {
    failure.stage = admissionReasons.has(error.reason ?? "") ? Stage.ADMISSION : Stage.CHECK;
  }
  return failure;
}
