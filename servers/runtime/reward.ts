import { create } from "@bufbuild/protobuf";
import { FailureKind, Retry, type Reward, RewardSchema } from "../../gen/index.js";
import { OperationFailure } from "./failure.js";
import { foundText } from "./found-text.js";

/** The range that an environment declares for its rewards. */
export interface RewardRange {
  readonly minimum: number;
  readonly maximum: number;
}

function expected({ minimum, maximum }: RewardRange): string {
  return `a finite number from ${minimum} to ${maximum}, the declared range`;
}

/** Of untyped authors: null is not what was left out. */
function found(value: unknown): string {
  return value === null ? "null" : foundText(value);
}

/**
 * A reward as the contract carries it. One that is not finite or outside the range is no reward but failure
 * INVALID_REWARD (R8, ENV-VRFY-005, ENV-STEP-004, field-case-029).
 */
export function checkedReward(value: number, range: RewardRange, what: string): Reward {
  if (Number.isFinite(value) && value >= range.minimum && value <= range.maximum) {
    return create(RewardSchema, { value });
  }
  throw new OperationFailure({
    kind: FailureKind.INVALID_REWARD,
    retry: Retry.NEVER,
    reason: `${what}: expected ${expected(range)}, found ${found(value)}`,
    detailsJson: JSON.stringify({ value: String(value), minimum: range.minimum, maximum: range.maximum }),
  });
}
