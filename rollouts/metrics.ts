import type { FailureRecord, RolloutRecord } from "./rollout-record.js";

/** How many episodes came to what; the counts add up to `expected`, so that no denominator shrinks (field-case-090). */
export interface Coverage {
  readonly expected: number;
  /** Verdicts with a reward that counts. */
  readonly scored: number;
  /** Verdicts that are no valid measurement. */
  readonly masked: number;
  /** Verdicts without reward. */
  readonly unscored: number;
  /** Episodes that ended without a verdict. */
  readonly failed: number;
  /** Episodes that were not begun, or whose end is not known. */
  readonly missing: number;
}

/** The numbers of a run, made from its files alone, so that they are the same during the run and afterwards. */
export interface Metrics {
  readonly coverage: Coverage;
  /** Mean reward over the scored episodes; null where there is none. */
  readonly mean_reward: number | null;
  /** The same with every failed episode counted as 0. */
  readonly mean_reward_failures_as_zero: number | null;
  /** Mean reward over scored episodes that needed one attempt. */
  readonly mean_reward_without_retried: number | null;
  /** Scored episodes that needed more than one attempt. */
  readonly retried: number;
  /** Unbiased estimate that at least one of k samples of a task succeeds, over tasks with at least k scored samples. */
  readonly pass_at_k: Readonly<Record<string, number>>;
  readonly failures: {
    /** Episodes that ended without a verdict, by what happened last. */
    readonly by_kind: Readonly<Record<string, number>>;
    readonly by_stage: Readonly<Record<string, number>>;
    /** Failed attempts in all, those included that another attempt made good. */
    readonly attempts: number;
  };
  /** Tokens of the agents in episodes with a verdict, and of all attempts. */
  readonly tokens: { readonly accepted: number; readonly spent: number };
}

interface OutcomeJson {
  readonly agentEnds?: readonly {
    readonly usage?: { readonly inputTokens?: string; readonly outputTokens?: string };
  }[];
}

interface FailureJson {
  readonly kind?: string | number;
  readonly customKind?: string;
  readonly stage?: string | number;
}

/** Computes the numbers of a run from its records. */
export function computeMetrics(
  rollouts: readonly RolloutRecord[],
  failures: readonly FailureRecord[],
  expected: number,
): Metrics {
  const scored = rollouts.filter(({ reward, masked }) => masked === null && reward !== null);
  const masked = rollouts.filter((record) => record.masked !== null);
  const landed = new Set(rollouts.map(({ rollout_id: id }) => id));
  const final = new Map(
    failures
      .filter(({ final, rollout_id: id }) => final && !landed.has(id))
      .map((failure) => [failure.rollout_id, failure]),
  );
  const first = scored.filter(({ attempt }) => attempt === 0);
  const rewards = scored.map(({ reward }) => reward ?? 0);
  return {
    coverage: {
      expected,
      scored: scored.length,
      masked: masked.length,
      unscored: rollouts.length - scored.length - masked.length,
      failed: final.size,
      missing: expected - rollouts.length - final.size,
    },
    mean_reward: mean(rewards),
    mean_reward_failures_as_zero: mean([...rewards, ...Array.from(final, () => 0)]),
    mean_reward_without_retried: mean(first.map(({ reward }) => reward ?? 0)),
    retried: scored.length - first.length,
    pass_at_k: passAtK(scored),
    failures: {
      by_kind: countBy([...final.values()], ({ failure }) => kindName(failure as FailureJson)),
      by_stage: countBy([...final.values()], ({ failure }) => name((failure as FailureJson).stage, "STAGE_")),
      attempts: failures.length,
    },
    tokens: tokensOf(rollouts, failures),
  };
}

function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}

function name(value: string | number | undefined, prefix: string): string {
  if (value === undefined) return "unspecified";
  return String(value).replace(prefix, "").toLowerCase();
}

/** A kind that this version does not know is counted under its number, a vendor's under its own name (field-case-042). */
function kindName({ kind, customKind }: FailureJson): string {
  return customKind === undefined || customKind === "" ? name(kind, "FAILURE_KIND_") : customKind;
}

function countBy<T>(values: readonly T[], key: (value: T) => string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const value of values) counts[key(value)] = (counts[key(value)] ?? 0) + 1;
  return counts;
}

/** A sample succeeds where its verdict says so, else where it earned a whole reward. */
function succeeded({ success, reward }: RolloutRecord): boolean {
  return success ?? (reward ?? 0) >= 1;
}

function passAtK(scored: readonly RolloutRecord[]): Record<string, number> {
  const groups = new Map<string, { n: number; c: number }>();
  for (const record of scored) {
    const group = groups.get(record.group_id) ?? { n: 0, c: 0 };
    groups.set(record.group_id, { n: group.n + 1, c: group.c + (succeeded(record) ? 1 : 0) });
  }
  const most = Math.max(0, ...[...groups.values()].map(({ n }) => n));
  const result: Record<string, number> = {};
  for (let k = 1; k <= most; k *= 2) {
    const estimates = [...groups.values()].filter(({ n }) => n >= k).map(({ n, c }) => estimate(n, c, k));
    result[String(k)] = mean(estimates) ?? 0;
  }
  return result;
}

/** 1 - C(n-c, k) / C(n, k), as a product that does not overflow. */
function estimate(n: number, c: number, k: number): number {
  if (n - c < k) return 1;
  let miss = 1;
  for (let i = n - c + 1; i <= n; i += 1) miss *= 1 - k / i;
  return 1 - miss;
}

function tokensOf(
  rollouts: readonly RolloutRecord[],
  failures: readonly FailureRecord[],
): { accepted: number; spent: number } {
  const sum = (outcome: unknown): number =>
    ((outcome as OutcomeJson | null)?.agentEnds ?? []).reduce(
      (total, { usage }) => total + Number(usage?.inputTokens ?? 0) + Number(usage?.outputTokens ?? 0),
      0,
    );
  const accepted = rollouts.reduce((total, { outcome }) => total + sum(outcome), 0);
  return { accepted, spent: accepted + failures.reduce((total, { outcome }) => total + sum(outcome), 0) };
}
