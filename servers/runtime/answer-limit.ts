import type { HandlerContext } from "@connectrpc/connect";
import { maxMessageHeader, usualMaxMessageBytes } from "../../clients/metadata.js";
import { requestHeaderOf } from "./grpc/index.js";
import type { Limits } from "./limits.js";
import { invalidField } from "./refusal.js";

/**
 * Bytes that the answer to a call may have: no more than this server sends, and no more than the caller takes, which is
 * 4 MiB where it declares nothing (R11, ALL-DESC-009). Throws the refusal of a declaration that is no number.
 */
export function answerLimit(
  limits: Pick<Limits, "maxMessageBytes">,
  call: Pick<HandlerContext, "requestHeader">,
): number {
  const declared = requestHeaderOf(call, maxMessageHeader);
  if (declared === undefined) return Math.min(limits.maxMessageBytes, usualMaxMessageBytes);
  const bytes = /^\d{1,15}$/.test(declared) ? Number(declared) : 0;
  if (bytes < 1) {
    throw invalidField(maxMessageHeader, `expected a number of bytes from 1 on, found "${declared}"`);
  }
  // It declares more, never less: metadata must not decide how an operation ends (R2).
  return Math.min(limits.maxMessageBytes, Math.max(usualMaxMessageBytes, bytes));
}

/** Bytes of a message that is kept and read by whoever asks later, whatever it declares: an event, an outcome, a capture. */
export function keptMessageLimit({ maxMessageBytes }: Pick<Limits, "maxMessageBytes">): number {
  return Math.min(maxMessageBytes, usualMaxMessageBytes);
}
