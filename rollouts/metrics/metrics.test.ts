import { pino } from "pino";
import { expect, it } from "vitest";
import { FailureKind, Retry, Stage } from "../../gen/index.js";
import { ManualClock } from "../../test/manual-clock.js";
import { temporaryFolder } from "../../test/temporary-folder.js";
import { failureOf, planned, verdictOf } from "../fixtures/attempts.js";
import type { FailureRecord, RolloutRecord } from "../rollout-record.js";
import { RolloutStore } from "../rollout-store.js";
import { computeMetrics, type Metrics } from "./metrics.js";
import { summariseRun } from "./summaries.js";

/** The numbers of a run, through its files. */
async function metricsOf(
  records: readonly (RolloutRecord | FailureRecord)[],
  episodes: number,
  change: { readonly repeats?: number; readonly begun?: number } = {},
): Promise<Metrics> {
  const folder = temporaryFolder();
  const store = new RolloutStore({ folder, clock: new ManualClock(), log: pino({ level: "silent" }) });
  for (const record of records) {
    if ("final" in record) void store.fail(record, record.final ? "exhausted" : "planned");
    else void store.land(record);
  }
  await store.close();
  const { repeats = 1, begun = 0 } = change;
  return computeMetrics(summariseRun(folder), { episodes, groups: episodes / repeats, begun });
}

const masked = { reward: { value: 0 }, masked: { reason: "agent_failure" } };

it("field-case-090: no denominator shrinks in silence", async () => {
  const tasks = planned(10);
  const boxLost = { kind: FailureKind.SANDBOX_LOST, stage: Stage.STEP };
  const metrics = await metricsOf(
    tasks.map((episode, i) =>
      i < 6 ? verdictOf(episode, 1) : i < 8 ? verdictOf(episode, 0) : failureOf(episode, boxLost),
    ),
    10,
  );
  expect(metrics).toMatchObject({
    coverage: { expected: 10, scored: 8, masked: 0, unscored: 0, failed: 2, unfinished: 0, not_begun: 0 },
    mean_reward: 0.75,
    mean_reward_failures_as_zero: 0.6,
    failures: {
      by_kind: { sandbox_lost: 2 },
      by_stage: { step: 2 },
      kinds: [{ kind: "sandbox_lost", episodes: 2, example: "the box is gone" }],
    },
  });
});

it("field-case-034: infrastructure failures are no zero rewards", async () => {
  const group = planned(1, 8);
  const seedFailed = { kind: FailureKind.SEED_FAILED, stage: Stage.SEED };
  const metrics = await metricsOf(
    group.map((episode, i) => (i === 7 ? verdictOf(episode, 0.5) : failureOf(episode, seedFailed))),
    8,
    { repeats: 8 },
  );
  expect(metrics).toMatchObject({
    coverage: { expected: 8, scored: 1, failed: 7 },
    mean_reward: 0.5,
    failures: { by_kind: { seed_failed: 7 }, by_stage: { seed: 7 } },
    groups: { groups: 1, with_signal: 0, single: 1, statistics: [{ scored: 1, mean: 0.5, deviation: null }] },
  });
});

it("field-case-091: a single row that failed counts as zero, not as no result", async () => {
  const [only] = planned(1);
  if (only === undefined) throw new Error("no plan");
  const metrics = await metricsOf([failureOf(only)], 1);
  expect(metrics).toMatchObject({ mean_reward: null, mean_reward_failures_as_zero: 0 });
});

it("field-case-091: masked and unscored verdicts enter no mean", async () => {
  const [a, b, c, d] = planned(4);
  if (a === undefined || b === undefined || c === undefined || d === undefined) throw new Error("no plan");
  const metrics = await metricsOf([verdictOf(a, 1), verdictOf(b, masked), verdictOf(c, {}), failureOf(d)], 4);
  expect(metrics).toMatchObject({
    coverage: { expected: 4, scored: 1, masked: 1, unscored: 1, failed: 1 },
    mean_reward: 1,
    mean_reward_failures_as_zero: 0.5,
    pass_at_k: { "1": 1 },
  });
});

it("field-case-095: every row that was planned is accounted for", async () => {
  const tasks = planned(10);
  const metrics = await metricsOf(
    tasks.slice(0, 7).map((episode) => verdictOf(episode, 1)),
    10,
    { begun: 9 },
  );
  const { expected, ...counts } = metrics.coverage;
  expect(metrics.coverage).toMatchObject({ scored: 7, unfinished: 2, not_begun: 1 });
  expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(expected);
});

it("field-case-096: numbers do not depend on the order in which episodes ended", async () => {
  const tasks = planned(4);
  const records = tasks.map((episode, i) => verdictOf(episode, (i + 1) / 10));
  const inOrder = await metricsOf(records, 4);
  expect(await metricsOf(records.toReversed(), 4)).toEqual(inOrder);
});

it("field-case-098: a masked reward moves neither the mean nor the signal of its group", async () => {
  const episodes = planned(3, 4);
  const verdicts = [1, 3, 2, masked, masked, masked, masked, masked, 5, masked, masked, masked];
  const metrics = await metricsOf(
    episodes.map((episode, i) => verdictOf(episode, verdicts[i] ?? 0)),
    12,
    { repeats: 4 },
  );
  expect(metrics.groups).toMatchObject({ groups: 3, with_signal: 1, uniform: 0, single: 1, empty: 1 });
  expect(metrics.groups.statistics).toMatchObject([
    { scored: 3, left_out: 1, mean: 2, deviation: Math.sqrt(2 / 3) },
    { scored: 0, left_out: 4, mean: null, deviation: null },
    { scored: 1, left_out: 3, mean: 5, deviation: null },
  ]);
});

it("field-case-102: tells tokens and costs of accepted verdicts and of everything", async () => {
  const [a, b] = planned(2);
  if (a === undefined || b === undefined) throw new Error("no plan");
  const metrics = await metricsOf(
    [
      verdictOf(a, 1, { tokens: 100, costUsd: 0.5 }),
      failureOf(b, { final: false }, { tokens: 20, costUsd: 0.25 }),
      verdictOf(b, 1, { tokens: 50, attempt: 1 }),
    ],
    2,
  );
  expect(metrics.usage).toMatchObject({
    accepted: { input_tokens: 150, cost_usd: 0.5 },
    spent: { input_tokens: 170, cost_usd: 0.75 },
  });
  expect(metrics).toMatchObject({ retried: 1, failures: { attempts: 1, by_kind: {} } });
});

it("tells the mean with and without retried episodes", async () => {
  const [a, b, c] = planned(3);
  if (a === undefined || b === undefined || c === undefined) throw new Error("no plan");
  const metrics = await metricsOf([verdictOf(a, 0), verdictOf(b, 1), verdictOf(c, 1, { attempt: 2 })], 3);
  expect(metrics.mean_reward).toBeCloseTo(2 / 3);
  expect(metrics.mean_reward_without_retried).toBe(0.5);
});

it("keeps the last failure of an episode, and none once it has a verdict", async () => {
  const [a, b] = planned(2);
  if (a === undefined || b === undefined) throw new Error("no plan");
  const metrics = await metricsOf(
    [
      failureOf(a),
      failureOf(a, { kind: FailureKind.TIMEOUT, stage: Stage.ACTIVATE }, { attempt: 1 }),
      failureOf(b),
      verdictOf(b, 1, { attempt: 3 }),
    ],
    2,
  );
  expect(metrics.failures).toMatchObject({ by_kind: { timeout: 1 }, by_stage: { activate: 1 }, attempts: 3 });
});

it("field-case-042: counts kinds that are not known here under what names them", async () => {
  const [a, b] = planned(2);
  if (a === undefined || b === undefined) throw new Error("no plan");
  const metrics = await metricsOf(
    [
      failureOf(a, { kind: FailureKind.CUSTOM, customKind: "acme:disk_on_fire", retry: Retry.NEVER }),
      failureOf(b, { kind: 777 as FailureKind }),
    ],
    2,
  );
  expect(metrics.failures.by_kind).toEqual({ "acme:disk_on_fire": 1, "777": 1 });
});

it("estimates pass@k without bias, over tasks with enough samples", async () => {
  const episodes = planned(2, 5);
  const metrics = await metricsOf(
    // The first task: 2 of 5 succeed. The second: 1 of 3, two failed.
    episodes.map((episode, i) =>
      i < 5
        ? verdictOf(episode, i < 2 ? 1 : 0)
        : i < 8
          ? verdictOf(episode, i === 5 ? 1 : 0)
          : failureOf(episode),
    ),
    10,
    { repeats: 5 },
  );
  expect(Object.keys(metrics.pass_at_k)).toEqual(["1", "2", "4", "5"]);
  expect(metrics.pass_at_k["1"]).toBeCloseTo((2 / 5 + 1 / 3) / 2);
  // 1 - C(3,2)/C(5,2) = 0.7; 1 - C(2,2)/C(3,2) = 2/3
  expect(metrics.pass_at_k["2"]).toBeCloseTo((0.7 + 2 / 3) / 2);
  expect(metrics.pass_at_k["4"]).toBe(1);
});

it("takes the verdict's own word for success before its reward", async () => {
  const [a, b, c] = planned(3);
  if (a === undefined || b === undefined || c === undefined) throw new Error("no plan");
  const metrics = await metricsOf(
    [
      verdictOf(a, { reward: { value: 0.2 }, success: true }),
      verdictOf(b, { reward: { value: 1 }, success: false }),
      verdictOf(c, 1),
    ],
    3,
  );
  expect(metrics.pass_at_k["1"]).toBeCloseTo(2 / 3);
});
