import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type StepResponse,
  StepResponseSchema,
  type VerifyResponse,
  VerifyResponseSchema,
  type VerifyResultSchema,
} from "../../gen/index.js";

let made = 0;

/** A name that no other has. */
export const newName = (label: string): string => `${label}-${++made}`;

/** The answer of a step that never was. */
export function inventedStep(): StepResponse {
  return create(StepResponseSchema, {
    answerId: newName("invented"),
    outcomes: [{ agentId: "agent", observation: {} }],
    nextAgents: ["agent"],
  });
}

/** A verdict that nobody measured. */
export const inventedVerdict = { case: "verdict" as const, value: { reward: { value: 0 } } };

/** The events of a verification that never was. */
export function inventedVerification(
  outcome: MessageInitShape<typeof VerifyResultSchema>["outcome"] = inventedVerdict,
): VerifyResponse[] {
  const event = { case: "result" as const, value: { answerId: newName("invented"), outcome } };
  return [
    create(VerifyResponseSchema, { sequence: 1n, event: { case: "accepted", value: {} } }),
    create(VerifyResponseSchema, { sequence: 2n, event: event as never }),
  ];
}
