import { FailureKind, Retry } from "../../gen/index.js";
import { OperationFailure } from "../runtime/failure.js";

/**
 * Watches who answers at an endpoint that a server told for what follows: nobody has named its instance, so the first
 * that answers is the one that holds the resource. Throws SESSION_LOST where another one answers later (EPI-E6-011).
 */
export function firstInstance(): (found: string) => void {
  let first: string | undefined;
  return (found) => {
    first ??= found;
    if (found === first) return;
    throw new OperationFailure({
      kind: FailureKind.SESSION_LOST,
      retry: Retry.NEW_ATTEMPT,
      reason: "the peer has lost its records: another instance answers at the endpoint that it told",
    });
  };
}
