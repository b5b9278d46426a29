import { type FailureKind, Retry } from "../../gen/index.js";
import { OperationFailure } from "../runtime/failure.js";

/**
 * The recorded failure of an operation whose author gave what cannot be: the session fails, no other one, and the log
 * has it (R9). `reason` says what was given and what would be right; it is read by callers.
 */
export function authorFault(kind: FailureKind, reason: string): OperationFailure {
  return new OperationFailure({ kind, retry: Retry.NEVER, reason }, { cause: new Error(reason) });
}
