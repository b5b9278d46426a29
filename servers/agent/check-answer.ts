import { create } from "@bufbuild/protobuf";
import { rpcName } from "../../clients/index.js";
import {
  Boundary,
  CauseSchema,
  type Choice,
  Delivery,
  FailureKind,
  FinishReason,
  type GenerateResponse,
  ModelService,
  Retry,
  StopReason,
} from "../../gen/index.js";
import { OperationFailure } from "../runtime/failure.js";

/** What a finish reason means for the turn: it goes on, or it must end. */
const meanings: Readonly<Partial<Record<FinishReason, "on" | "cut" | StopReason>>> = {
  [FinishReason.STOP]: "on",
  [FinishReason.TOOL_CALLS]: "on",
  [FinishReason.LENGTH]: "cut",
  [FinishReason.CONTEXT_LENGTH]: StopReason.CONTEXT_LENGTH,
  [FinishReason.REFUSAL]: StopReason.REFUSAL,
  [FinishReason.CONTENT_FILTER]: StopReason.REFUSAL,
};

/**
 * The first choice of a model's answer, and what its finish means. Throws a failure whose cause is the model where there
 * is no choice, or one whose finish is unknown here: that is never read as success (AGT-ACT-010, ALL-FAIL-006).
 */
export function choiceOf(response: GenerateResponse): {
  readonly choice: Choice;
  readonly meaning: "on" | "cut" | StopReason;
} {
  const [choice] = response.choices;
  if (choice === undefined) throw invalidOutput("the model answered without a choice");
  const meaning = meanings[choice.finishReason];
  if (meaning === undefined) {
    throw invalidOutput(
      `the model's answer ended with finish reason ${choice.finishReason}, which is unknown here`,
    );
  }
  return { choice, meaning };
}

function invalidOutput(reason: string): OperationFailure {
  const kind = FailureKind.MODEL_INVALID_OUTPUT;
  const rpc = rpcName(ModelService.method.generate);
  return new OperationFailure({
    kind,
    retry: Retry.NEW_ATTEMPT,
    reason,
    causes: [
      create(CauseSchema, { boundary: Boundary.MODEL, kind, rpc, delivery: Delivery.DELIVERED, reason }),
    ],
  });
}
