import { CallError } from "../../clients/index.js";
import { keyHeader } from "../../clients/metadata.js";
import { FailureKind, Retry } from "../../gen/index.js";
import { OperationFailure } from "../runtime/failure.js";
import { causeOf, failureOf, type PeerFailureOptions } from "../runtime/peer-failure.js";

/** Metadata of an agent's calls: its credential, and the key of the episode that it plays in (ALL-SCOPE-004). */
export function accessHeaders(token: string, key: string): Readonly<Record<string, string>> {
  return { [keyHeader]: key, ...(token === "" ? {} : { authorization: `Bearer ${token}` }) };
}

/**
 * The Failure of a call by an access that was granted for this session. Its credential was minted together with what it
 * opens: where it is not known any more, that is gone as well.
 */
export function failureOfAccess(error: unknown, options: PeerFailureOptions): unknown {
  if (!(error instanceof CallError) || error.reason !== "CREDENTIALS") return failureOf(error, options);
  const kind = FailureKind.SESSION_LOST;
  return new OperationFailure({
    kind,
    retry: Retry.NEW_ATTEMPT,
    reason: "the peer does not know the credential that was granted for this session: what it opened is gone",
    causes: [causeOf(error, options.boundary, kind)],
  });
}
