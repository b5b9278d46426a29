import { mean } from "./mean.js";
import type { RolloutSummary } from "./summaries.js";

/** The repeats of one task. Masked and unscored ones move nothing: neither mean nor spread (field-case-098). */
export interface GroupStatistics {
  readonly group_id: string;
  /** Samples whose reward counts. */
  readonly scored: number;
  /** Verdicts whose reward does not. */
  readonly left_out: number;
  readonly mean: number | null;
  /** Standard deviation over the scored samples; null below two. */
  readonly deviation: number | null;
}

/** How many groups can tell one sample from another. The counts of those that cannot add up to the rest. */
export interface GroupCounts {
  readonly groups: number;
  /** At least two scored samples with different rewards. */
  readonly with_signal: number;
  /** At least two scored samples, all with the same reward. */
  readonly uniform: number;
  /** One scored sample: nothing to compare it with. */
  readonly single: number;
  /** No scored sample. */
  readonly empty: number;
}

/** Statistics of each group that has a verdict, in the order of the plan. */
export function groupStatistics(rollouts: readonly RolloutSummary[]): GroupStatistics[] {
  const groups = new Map<string, RolloutSummary[]>();
  for (const rollout of rollouts) {
    const group = groups.get(rollout.groupId);
    if (group === undefined) groups.set(rollout.groupId, [rollout]);
    else group.push(rollout);
  }
  return [...groups].map(([id, members]) => {
    const rewards = members.flatMap(({ scored }) => scored ?? []);
    const average = mean(rewards);
    const variance = mean(rewards.map((reward) => (reward - (average ?? 0)) ** 2));
    return {
      group_id: id,
      scored: rewards.length,
      left_out: members.length - rewards.length,
      mean: average,
      deviation: rewards.length < 2 || variance === null ? null : Math.sqrt(variance),
    };
  });
}

/** Counts groups by what they are worth; those of which no verdict came are empty. */
export function countGroups(statistics: readonly GroupStatistics[], groups: number): GroupCounts {
  const count = (fits: (group: GroupStatistics) => boolean): number => statistics.filter(fits).length;
  const single = count(({ scored }) => scored === 1);
  const uniform = count(({ deviation }) => deviation === 0);
  const withSignal = count(({ deviation }) => deviation !== null && deviation > 0);
  return { groups, with_signal: withSignal, uniform, single, empty: groups - withSignal - uniform - single };
}
