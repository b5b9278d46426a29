import { expect, it } from "vitest";
import { failureOf, planned, verdictOf } from "../rollouts/fixtures/attempts.js";
import { computeMetrics, type Metrics } from "../rollouts/metrics/metrics.js";
import type { FailureSummary, RolloutSummary } from "../rollouts/metrics/summaries.js";
import type { RunReport } from "../rollouts/run-report.js";
import { reportTable } from "./report-table.js";

const nothing = { input_tokens: 0, output_tokens: 0, model_calls: 0, cost_usd: null };

function metricsOf(
  rewards: readonly number[],
  failures: readonly Partial<FailureSummary>[],
  expected: number,
): Metrics {
  const episodes = planned(expected);
  const rollouts = rewards.map((scored, index): RolloutSummary => {
    const record = verdictOf(episodes[index] ?? episodes[0] ?? fail(), scored);
    return {
      index,
      rolloutId: record.rollout_id,
      groupId: record.group_id,
      attempt: index === 0 ? 1 : 0,
      scored,
      masked: false,
      success: scored >= 1,
      spent: nothing,
      unreleased: [],
    };
  });
  const failed = failures.map((failure, i): FailureSummary => {
    const { rollout_id: rolloutId } = failureOf(episodes[rewards.length + i] ?? fail());
    return {
      index: i,
      rolloutId,
      attempt: 0,
      final: true,
      kind: "timeout",
      stage: "seed",
      reason: "",
      spent: nothing,
      unreleased: [],
      ...failure,
    };
  });
  return computeMetrics(
    { rollouts, failures: failed },
    { episodes: expected, groups: expected, begun: expected - 1 },
  );
}

function fail(): never {
  throw new Error("the plan is too short");
}

const report = (change: Partial<RunReport>): RunReport => ({
  name: "solver",
  folder: "out",
  urls: {},
  resumed: undefined,
  metrics: metricsOf([], [], 1),
  stopped: undefined,
  unfinished: [],
  benchmark: undefined,
  ...change,
});

it("shows a row for each run, and what its numbers hide", () => {
  const whole = report({ name: "oracle", folder: "out/oracle", metrics: metricsOf([1, 1], [], 3) });
  const broken = report({
    folder: "out/solver",
    metrics: metricsOf(
      [1, 0],
      [
        { kind: "acme:\u001b[31mfire", reason: "first\nlevel=error fake" },
        { kind: "timeout", reason: "x".repeat(1000) },
      ],
      10,
    ),
    unfinished: Array.from({ length: 7 }, (_, i) => `tasks.jsonl:${i + 3} (run1.t-${i + 3}.r0)`),
    stopped: "it was asked to",
    benchmark: {
      name: "maths",
      metric: "pass_at_1",
      baselines: [{ agent: "oracle", score: 1 }],
    } as unknown as NonNullable<RunReport["benchmark"]>,
  });
  expect(reportTable([whole, broken])).toMatchInlineSnapshot(`
    "agent   mean reward  pass@1  scored  masked  unscored  failed  unfinished  not begun  expected  files
    oracle  1.000        1.000   2       0       0         0       0           1          3         out/oracle
    solver  0.500        0.500   2       0       0         2       5           1          10        out/solver
    oracle: mean reward without the 1 retried: 1.000
    solver: benchmark maths: pass_at_1 0.500 (baselines: oracle 1.000)
    solver: 1 failed: acme:\\u001b[31mfire: first\\nlevel=error fake
    solver: 1 failed: timeout: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx... (1000 characters)
    solver: mean reward with failures as 0: 0.250
    solver: mean reward without the 1 retried: 0.000
    solver: unfinished: tasks.jsonl:3 (run1.t-3.r0)
    solver: unfinished: tasks.jsonl:4 (run1.t-4.r0)
    solver: unfinished: tasks.jsonl:5 (run1.t-5.r0)
    solver: unfinished: tasks.jsonl:6 (run1.t-6.r0)
    solver: unfinished: tasks.jsonl:7 (run1.t-7.r0)
    solver: unfinished: 2 more
    solver: stopped before the end: it was asked to"
  `);
});

it("shows no number where there is none", () => {
  expect(reportTable([report({})]).split("\n")[1]).toMatch(/^solver +- +- +0 /);
});

it("tells what was left at servers, where, and what an earlier part of the run had done", () => {
  const metrics = metricsOf([1], [], 2);
  const unreleased = [
    { kind: "environment_session", server: "maths", url: null, count: 2 },
    { kind: "gateway", server: "far\u001b[2J", url: null, count: 1 },
  ];
  const urls = { maths: "http://127.0.0.1:7001" };
  const table = reportTable([report({ metrics: { ...metrics, unreleased }, urls, resumed: 1 })]);
  expect(table.split("\n").slice(2)).toEqual([
    "solver: resumed: 1 of 2 had ended before; the numbers are of all",
    expect.anything(),
    "solver: unreleased: 2 environment sessions at http://127.0.0.1:7001",
    "solver: unreleased: 1 gateway at far\\u001b[2J",
  ]);
});
