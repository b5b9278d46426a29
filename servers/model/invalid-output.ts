import { FailureKind, Retry } from "../../gen/index.js";
import { OperationFailure } from "../runtime/failure.js";

/**
 * The failure of a call whose answer breaks the contract or cannot be read: it is told, never repaired, padded or cut
 * (field-case-80). Another attempt may give a better one.
 */
export function invalidOutput(reason: string, details?: Readonly<Record<string, unknown>>): OperationFailure {
  return new OperationFailure({
    kind: FailureKind.MODEL_INVALID_OUTPUT,
    retry: Retry.NEW_ATTEMPT,
    reason,
    ...(details === undefined ? {} : { detailsJson: JSON.stringify(details) }),
  });
}
