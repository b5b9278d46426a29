/** What rewards an environment gives. */
export interface RewardSpec {
  /**
   * `terminal`: in the verdict only; `step`: on every step; `hybrid`: on steps, and the verdict measures more. The verdict's
   * reward is always the whole episode's: with step rewards `verify` combines, and they stand beside it for whoever trains on
   * steps (`stepRewards` of its work is their sum).
   */
  readonly timing: "terminal" | "step" | "hybrid";
  /** What a step's reward is; only with `step` and `hybrid`. Absent there: `delta`. */
  readonly stepReward?: "delta" | "cumulative";
  /** Least possible reward of a step or an episode. */
  readonly minimum: number;
  /** Greatest possible reward of a step or an episode. */
  readonly maximum: number;
  /** Names of the verdict's components. */
  readonly components?: readonly string[];
  /** Agents see rewards in the answers to their own calls. */
  readonly visible?: boolean;
}
