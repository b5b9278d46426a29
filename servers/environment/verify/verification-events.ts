import { create } from "@bufbuild/protobuf";
import { encodedBytes } from "../../../clients/channel/encode-message.js";
import {
  type VerifyResponse,
  VerifyResponseSchema,
  type VerifyResult,
  VerifyResultSchema,
} from "../../../gen/index.js";
import { fromMs } from "../../runtime/duration.js";
import { EventLog } from "../../runtime/event-log.js";
import type { Operation, Outcome } from "../../runtime/operation.js";

/** The events of a new verification. */
export function verificationEvents(): EventLog<VerifyResponse> {
  return new EventLog((event) => encodedBytes(VerifyResponseSchema, event));
}

/** Tells that a verification is admitted, and the bound that holds (ALL-ALIVE-001). */
export function tellAccepted(operation: Operation<VerifyResult>, timeoutMs: number): void {
  eventsOf(operation).append(
    create(VerifyResponseSchema, { event: { case: "accepted", value: { timeout: fromMs(timeoutMs) } } }),
  );
}

/** Tells how a verification ended: with a verdict or a failure (ENV-VRFY-001). */
export function tellResult(operation: Operation<VerifyResult>, outcome: Outcome<VerifyResult>): void {
  const result = outcome.ok
    ? outcome.answer
    : create(VerifyResultSchema, {
        answerId: operation.answerId,
        outcome: { case: "failure", value: outcome.error.failure },
      });
  eventsOf(operation).end(create(VerifyResponseSchema, { event: { case: "result", value: result } }));
}

function eventsOf(operation: Operation<VerifyResult>): EventLog<VerifyResponse> {
  return operation.events as EventLog<VerifyResponse>;
}
