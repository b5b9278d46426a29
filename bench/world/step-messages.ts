import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import {
  type StepRequestSchema as RequestSchema,
  StepRequestSchema,
  type StepResponse,
  StepResponseSchema,
  StepStreamRequestSchema,
  StepStreamResponseSchema,
} from "../../gen/index.js";
import { ACTION, LAST, observationText, REWARD } from "./counter.js";

/** The request of step `index` of a session. */
export function stepRequest(sessionId: string, index: number): MessageInitShape<typeof RequestSchema> {
  return {
    sessionId,
    name: { case: "stepIndex", value: index },
    actions: [
      {
        agentId: "agent",
        kind: { case: "content", value: { blocks: [{ kind: { case: "text", value: ACTION } }] } },
      },
    ],
  };
}

/**
 * Checks the answer of step `index`: its number, its place in the ledger, what is seen, the reward, the end.
 *
 * @returns Whether the episode is over.
 * @throws Error - It is not the answer that was due.
 */
export function checkStep(answer: StepResponse, index: number): boolean {
  const [outcome] = answer.outcomes;
  const block = outcome?.observation?.content[0]?.kind;
  const seen = block?.case === "text" ? block.value : undefined;
  const last = index + 1 === LAST;
  const right =
    answer.stepIndex === index &&
    answer.sequence === BigInt(index + 1) &&
    answer.answerId !== "" &&
    seen === observationText(index + 1) &&
    outcome?.reward?.value === REWARD &&
    answer.terminated === last &&
    answer.nextAgents.length === (last ? 0 : 1);
  if (right) return last;
  throw new Error(
    `expected the answer of step ${index} with "${observationText(index + 1)}", found ` +
      `step ${answer.stepIndex}, sequence ${answer.sequence}, "${seen}", reward ${outcome?.reward?.value}, ` +
      `terminated ${answer.terminated}`,
  );
}

/** Bytes of Step's messages in the middle of an episode; those of the echoes are made as large. */
export interface MessageBytes {
  readonly request: number;
  readonly response: number;
}

const middle = LAST / 2;
/** As long as the answer ids that our server makes. */
const someAnswerId = "0f0e0d0c-0b0a-4908-8706-050403020100";
/** As long as the session ids of our load. */
export const someSessionId = `b-${"5e".repeat(18)}`;

/** The answer of step `index`, as our server gives it. */
export function stepResponse(index: number): MessageInitShape<typeof StepResponseSchema> {
  return {
    answerId: someAnswerId,
    stepIndex: index,
    sequence: BigInt(index + 1),
    outcomes: [
      {
        agentId: "agent",
        observation: { content: [{ kind: { case: "text", value: observationText(index + 1) } }] },
        reward: { value: REWARD },
      },
    ],
    nextAgents: ["agent"],
  };
}

/** Bytes of Step's request and answer. */
export function stepBytes(): MessageBytes {
  return {
    request: toBinary(StepRequestSchema, create(StepRequestSchema, stepRequest(someSessionId, middle)))
      .length,
    response: toBinary(StepResponseSchema, create(StepResponseSchema, stepResponse(middle))).length,
  };
}

/** Bytes of StepStream's frames. */
export function stepStreamBytes(): MessageBytes {
  const request = create(StepStreamRequestSchema, {
    frame: BigInt(middle),
    operations: [
      { operation: { case: "step", value: create(StepRequestSchema, stepRequest(someSessionId, middle)) } },
    ],
  });
  const response = create(StepStreamResponseSchema, {
    frame: BigInt(middle),
    answers: [{ answer: { case: "step", value: create(StepResponseSchema, stepResponse(middle)) } }],
  });
  return {
    request: toBinary(StepStreamRequestSchema, request).length,
    response: toBinary(StepStreamResponseSchema, response).length,
  };
}
