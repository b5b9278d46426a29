import { FailureKind, type Reward, StepReward } from "../../../gen/index.js";
import { checkedReward, type RewardRange } from "../../runtime/reward.js";
import { authorFault } from "../author-fault.js";
import type { AgentPart } from "../environment-session.js";

/** How steps are rewarded. */
export interface StepRewarding {
  readonly stepReward: StepReward;
  readonly range: RewardRange;
}

/**
 * The reward of one agent's outcome, kept with its others: one on each step, or on none (ENV-STEP-003). What was not
 * given is the reward of nothing: 0, or what there was so far. Throws INVALID_REWARD (ENV-STEP-004).
 */
export function rewardOutcome<State>(
  part: AgentPart<State>,
  given: number | undefined,
  { stepReward, range }: StepRewarding,
): Reward | undefined {
  if (stepReward === StepReward.NONE) {
    if (given === undefined) return undefined;
    throw authorFault(
      FailureKind.STEP_FAILED,
      "a step gave a reward, and the environment declares rewards in the verdict only",
    );
  }
  const cumulative = stepReward === StepReward.CUMULATIVE;
  // Not `??`: null is given, and is no number (R8).
  const value = given === undefined ? (cumulative ? part.stepRewards : 0) : given;
  const reward = checkedReward(value, range, "the step's reward");
  part.stepRewards = cumulative ? value : part.stepRewards + value;
  return reward;
}
