import { countGroups, type GroupCounts, type GroupStatistics, groupStatistics } from "./group-statistics.js";
import { mean } from "./mean.js";
import { passAtK } from "./pass-at-k.js";
import { type Spent, sumSpent } from "./spent.js";
import type { FailureSummary, RunSummary } from "./summaries.js";
import { type Unreleased, unreleasedOf } from "./unreleased.js";

/** How many episodes came to what. The counts after `expected` add up to it: no denominator shrinks (field-case-090). */
export interface Coverage {
  readonly expected: number;
  /** Verdicts with a reward that counts. */
  readonly scored: number;
  /** Verdicts that are no valid measurement. */
  readonly masked: number;
  /** Verdicts without reward. */
  readonly unscored: number;
  /** Ended without a verdict. */
  readonly failed: number;
  /** Begun, and without an end: abandoned, or lost with the process that ran them. A resumed run begins them again. */
  readonly unfinished: number;
  /** Not begun. */
  readonly not_begun: number;
}

/** Failed episodes of one kind, with one of their reasons, since a count alone hides the cause. */
export interface FailureCount {
  readonly kind: string;
  readonly episodes: number;
  readonly example: string;
}

/** The numbers of a run, made from its files alone, so that whoever reads them afterwards comes to the same. */
export interface Metrics {
  readonly coverage: Coverage;
  /** Mean reward over the scored episodes; null where there is none. */
  readonly mean_reward: number | null;
  /** The same with every failed episode counted as 0. */
  readonly mean_reward_failures_as_zero: number | null;
  /** Mean reward over the scored episodes that needed one attempt. */
  readonly mean_reward_without_retried: number | null;
  /** Scored episodes that needed more than one attempt. */
  readonly retried: number;
  readonly pass_at_k: Readonly<Record<string, number>>;
  readonly groups: GroupCounts & { readonly statistics: readonly GroupStatistics[] };
  readonly failures: {
    /** Episodes that ended without a verdict, by what happened last. */
    readonly by_kind: Readonly<Record<string, number>>;
    readonly by_stage: Readonly<Record<string, number>>;
    readonly kinds: readonly FailureCount[];
    /** Failed attempts in all, those included that another attempt made good. */
    readonly attempts: number;
  };
  readonly usage: {
    /** Of the episodes that have a verdict, in the attempt that gave it. */
    readonly accepted: Spent;
    /** Of all attempts that are known (field-case-102). */
    readonly spent: Spent;
  };
  /** What the episodes made at servers and nobody told to have released. */
  readonly unreleased: readonly Unreleased[];
}

/** What is known of a run beside its files: how much was planned. */
export interface Planned {
  readonly episodes: number;
  readonly groups: number;
  /** Episodes of which an attempt was begun, ended ones included. */
  readonly begun: number;
}

/** Computes the numbers of a run from what its files hold. */
export function computeMetrics(summary: RunSummary, planned: Planned): Metrics {
  const { rollouts, failures } = summary;
  const landed = new Set(rollouts.map(({ rolloutId }) => rolloutId));
  const failed = [
    ...new Map(
      failures
        .filter(({ final, rolloutId }) => final && !landed.has(rolloutId))
        .map((failure) => [failure.rolloutId, failure]),
    ).values(),
  ];
  const scored = rollouts.filter((rollout) => rollout.scored !== null);
  const rewards = scored.map((rollout) => rollout.scored ?? 0);
  const first = scored.filter(({ attempt }) => attempt === 0);
  const masked = rollouts.filter((rollout) => rollout.masked).length;
  const ended = rollouts.length + failed.length;
  const begun = Math.max(planned.begun, ended);
  const statistics = groupStatistics(rollouts);
  const accepted = sumSpent(rollouts.map(({ spent }) => spent));
  const spent = sumSpent([accepted, ...failures.map((failure) => failure.spent)]);
  return {
    coverage: {
      expected: planned.episodes,
      scored: scored.length,
      masked,
      unscored: rollouts.length - scored.length - masked,
      failed: failed.length,
      unfinished: begun - ended,
      not_begun: planned.episodes - begun,
    },
    mean_reward: mean(rewards),
    mean_reward_failures_as_zero: mean([...rewards, ...failed.map(() => 0)]),
    mean_reward_without_retried: mean(first.map((rollout) => rollout.scored ?? 0)),
    retried: scored.length - first.length,
    pass_at_k: passAtK(rollouts),
    groups: {
      ...countGroups(statistics, planned.groups),
      // Of groups of one, the verdicts themselves say everything.
      statistics: planned.groups === planned.episodes ? [] : statistics,
    },
    failures: {
      by_kind: countBy(failed, ({ kind }) => kind),
      by_stage: countBy(failed, ({ stage }) => stage),
      kinds: kindsOf(failed),
      attempts: failures.length,
    },
    usage: { accepted, spent },
    unreleased: unreleasedOf(summary),
  };
}

function countBy<T>(values: readonly T[], key: (value: T) => string): Record<string, number> {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(key(value), (counts.get(key(value)) ?? 0) + 1);
  return Object.fromEntries(counts);
}

function kindsOf(failed: readonly FailureSummary[]): FailureCount[] {
  return Object.entries(countBy(failed, ({ kind }) => kind)).map(([kind, episodes]) => ({
    kind,
    episodes,
    example: failed.find((failure) => failure.kind === kind)?.reason ?? "",
  }));
}
