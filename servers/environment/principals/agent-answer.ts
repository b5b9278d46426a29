import { create } from "@bufbuild/protobuf";
import {
  type AgentOutcome,
  AgentOutcomeSchema,
  type StepResponse,
  StepResponseSchema,
} from "../../../gen/index.js";
import type { Caller } from "./caller.js";

/**
 * The answer of a step as its caller may read it: an agent gets its own outcome only, without the environment's notes,
 * and without reward unless agents may see rewards (ALL-PRIN-007, ALL-PRIV-005, ENV-DESC-010).
 */
export function answerFor(caller: Caller, response: StepResponse, rewardVisible: boolean): StepResponse {
  if (caller === undefined) return response;
  const own = response.outcomes.filter(({ agentId }) => agentId === caller.agentId);
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
