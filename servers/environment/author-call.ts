import { ConnectError } from "@connectrpc/connect";
import { isInstance } from "../runtime/is-instance.js";
import { Refusal } from "../runtime/refusal.js";

/**
 * Calls an author's function outside an operation. What it throws is the author's, never a status of ours: a ConnectError
 * that its own client threw would otherwise reach callers word for word (R9).
 */
export function authorCall<T>(call: () => T): T {
  try {
    return call();
  } catch (error) {
    if (isInstance(error, ConnectError) && !isInstance(error, Refusal)) {
      throw new Error("the environment's own code threw the error of a call", { cause: error });
    }
    throw error;
  }
}
