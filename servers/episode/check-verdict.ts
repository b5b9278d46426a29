import type { Verdict } from "../../gen/index.js";
import { cutText } from "../runtime/failure.js";
import { checkedReward, type RewardRange } from "../runtime/reward.js";

/** Range of rewards as somebody declares it; an absent end is open. */
export interface DeclaredRange {
  readonly minimum?: number | undefined;
  readonly maximum?: number | undefined;
}

/** Throws INVALID_REWARD where a number of the verdict is none that may be averaged (EPI-OUT-010, field-case-029). */
export function checkVerdict(verdict: Verdict, declared: DeclaredRange | undefined): void {
  const range: RewardRange = {
    minimum: declared?.minimum ?? Number.NEGATIVE_INFINITY,
    maximum: declared?.maximum ?? Number.POSITIVE_INFINITY,
  };
  const { reward, agentRewards, components, stage } = verdict;
  if (reward !== undefined) checkedReward(reward.value, range, "the verdict's reward");
  for (const [agentId, { value }] of Object.entries(agentRewards)) {
    checkedReward(value, range, `the reward of agent ${cutText(agentId, 128)}`);
  }
  if (stage?.stageReward !== undefined) checkedReward(stage.stageReward.value, range, "the stage's reward");
  const everything = { minimum: Number.NEGATIVE_INFINITY, maximum: Number.POSITIVE_INFINITY };
  for (const [name, value] of Object.entries(components)) {
    checkedReward(value, everything, `component ${cutText(name, 128)}`);
  }
}
