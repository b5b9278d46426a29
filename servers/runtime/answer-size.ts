import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { encodedBytes } from "../../clients/channel/encode-message.js";
import { type FailureKind, Retry } from "../../gen/index.js";
import { OperationFailure } from "./failure.js";
import { tooLarge } from "./refusal.js";

/** Throws the refusal of an answer that its caller does not take: a read, or an operation that another caller began (R11). */
export function checkFits<D extends DescMessage>(schema: D, answer: MessageShape<D>, limit: number): void {
  const actual = encodedBytes(schema, answer);
  if (actual > limit) throw tooLarge({ limit, actual });
}

/**
 * Throws where an answer could not be delivered: an operation whose answer is above the limit has failed, and says so
 * with limit and actual size, rather than being recorded as done and lost on the way (R11, ALL-DESC-009).
 */
export function checkAnswerSize<D extends DescMessage>(
  schema: D,
  answer: MessageShape<D>,
  options: { readonly limit: number; readonly kind: FailureKind },
): void {
  const actual = encodedBytes(schema, answer);
  if (actual <= options.limit) return;
  throw new OperationFailure({
    kind: options.kind,
    retry: Retry.NEVER,
    reason: `the answer has ${actual} bytes, more than the ${options.limit} that a message may have`,
    detailsJson: JSON.stringify({ limit: options.limit, actual }),
  });
}
