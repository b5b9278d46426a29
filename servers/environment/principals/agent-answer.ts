import { create } from "@bufbuild/protobuf";
import {
  type AgentOutcome,
  AgentOutcomeSchema,
  FailureKind,
  FailureSchema,
  type StepResponse,
  StepResponseSchema,
} from "../../../gen/index.js";
import { OperationFailedError } from "../../runtime/failure.js";
import { isInstance } from "../../runtime/is-instance.js";
import type { Operation, Caller as Waiting } from "../../runtime/operation.js";
import type { Caller } from "./caller.js";

/** How a step is answered. */
export interface AnswerOptions {
  /** Agents may see rewards. */
  readonly rewardVisible: boolean;
  /** The call that waits: a step whose turn has not come when its last caller leaves is taken back (R3, R7). */
  readonly waiting: Waiting;
}

/**
 * The answer of a step as its caller may read it, at once where it is there: an agent gets its own outcome only, without
 * the environment's notes, and without reward unless agents may see rewards (ALL-PRIN-007, ALL-PRIV-005). Throws, or
 * rejects with, the failure as its caller may read it: to an agent it tells no more than an answer would.
 */
export function answerFor(
  caller: Caller,
  operation: Operation<StepResponse>,
  { rewardVisible, waiting }: AnswerOptions,
): StepResponse | Promise<StepResponse> {
  if (caller === undefined) return operation.answer(waiting);
  const own = (response: StepResponse): StepResponse => ownAnswer(response, caller.agentId, rewardVisible);
  const failed = (error: unknown): never => {
    throw isInstance(error, OperationFailedError) ? ownFailure(error, rewardVisible) : error;
  };
  try {
    const answer = operation.answer(waiting);
    return answer instanceof Promise ? answer.then(own, failed) : own(answer);
  } catch (error) {
    return failed(error);
  }
}

function ownAnswer(response: StepResponse, agentId: string, rewardVisible: boolean): StepResponse {
  const own = response.outcomes.filter((outcome) => outcome.agentId === agentId);
  return create(StepResponseSchema, {
    ...response,
    outcomes: own.map((outcome) => visible(outcome, rewardVisible)),
  });
}

function visible(outcome: AgentOutcome, rewardVisible: boolean): AgentOutcome {
  const { agentId, observation, reward, terminated, truncated } = outcome;
  return create(AgentOutcomeSchema, {
    agentId,
    ...(observation === undefined ? {} : { observation }),
    ...(reward === undefined || !rewardVisible ? {} : { reward }),
    terminated,
    truncated,
  });
}

/** The failure without its details and causes, which are notes as `info` is, and without the value of a bad reward. */
function ownFailure(
  { failure, answerId }: OperationFailedError,
  rewardVisible: boolean,
): OperationFailedError {
  const own = create(FailureSchema, { ...failure, detailsJson: "", causes: [] });
  if (own.kind === FailureKind.INVALID_REWARD && !rewardVisible)
    own.reason = "the step's reward is none that the environment declares; its controller reads which";
  return new OperationFailedError(own, answerId);
}
