import {
  FailureKind,
  Retry,
  type RewardDeclaration,
  Stage,
  type Verdict,
  type VerifyResult,
} from "../../gen/index.js";
import { cutText, OperationFailure } from "../runtime/failure.js";
import { checkedReward, type RewardRange } from "../runtime/reward.js";

/** Throws INVALID_REWARD where a number of the verdict is none that may be averaged (EPI-OUT-010, field-case-029). */
export function checkVerdict(verdict: Verdict, declared: RewardDeclaration | undefined): void {
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

/** The failure of a verification that ended with neither a verdict nor a failure that is known here (ALL-FAIL-006). */
export function noOutcome(): OperationFailure {
  return new OperationFailure({
    kind: FailureKind.PROTOCOL_VIOLATION,
    stage: Stage.VERIFY,
    retry: Retry.NEVER,
    reason: "the environment ended Verify with neither a verdict nor a failure",
  });
}

/** Whether the same verification under the next index may do. */
export function mayVerifyAgain({ outcome }: VerifyResult): boolean {
  return outcome.case === "failure" && outcome.value.retry === Retry.NEXT_INDEX;
}
