import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { temporaryFolder } from "../test/temporary-folder.js";
import { testData } from "../test/test-data.js";
import {
  failuresOf,
  metricsOf,
  rolloutsOf,
  root,
  tasksOf,
  touchstone,
  worldConfig,
} from "./fixtures/touchstone.js";

/** The rows of the closing table, by column. */
function table(stdout: string): Record<string, string>[] {
  const [head = "", ...rows] = stdout.split("\n").filter((line) => /\s{2}/.test(line));
  const columns = head.split(/\s{2,}/);
  return rows.map((row) => Object.fromEntries(row.split(/\s{2,}/).map((cell, i) => [columns[i], cell])));
}

async function runWorld(does: readonly object[], run = "", args: readonly string[] = []) {
  const folder = temporaryFolder({ "c.yaml": worldConfig(run), "tasks.jsonl": tasksOf(...does) });
  const out = join(folder, "out");
  return { out, ended: await touchstone(["run", join(folder, "c.yaml"), "--out", out, ...args]) };
}

it("runs what npm start runs: ceiling, a model with tools, floor", async () => {
  const out = join(temporaryFolder({}), "quickstart");
  const agents = ["oracle", "tool-loop", "noop"].flatMap((name) => ["--agent", name]);
  const ended = await touchstone(["run", "examples/quickstart.yaml", ...agents, "--out", out]);
  expect(ended).toMatchObject({ code: 0, stderr: "" });
  expect(table(ended.stdout)).toMatchObject([
    {
      agent: "oracle",
      "mean reward": "1.000",
      scored: "40",
      failed: "0",
      expected: "40",
      files: `${out}/oracle`,
    },
    { agent: "tool-loop", "mean reward": "0.800", scored: "40", failed: "0", expected: "40" },
    { agent: "noop", "mean reward": "0.000", scored: "40", failed: "0", expected: "40" },
  ]);
  const rollouts = rolloutsOf(join(out, "tool-loop"));
  // Every model call is captured with its tokens, the calculator's answers among the items.
  for (const { outcome } of rollouts) expect(outcome).toMatchObject({ training: { usable: true } });
  expect(JSON.stringify(rollouts)).toContain('"name":"calculator"');
  expect(metricsOf(join(out, "tool-loop"))).toMatchObject({
    agents: { agent: "tool-loop" },
    coverage: { expected: 40, scored: 40 },
    usage: { accepted: { model_calls: 107 } },
  });
});

describe("GSM8K as published", () => {
  const data = testData("gsm8k/test.jsonl");

  it("scores 1 with an oracle and 0 with an agent that does nothing, over 1,319 rows", async (context) => {
    const tasks = data.need(context);
    const folder = temporaryFolder({
      "c.yaml": `
servers:
  maths: { environment: reasoning }
  oracle: { agent: oracle }
  noop: { agent: noop }
  episodes: { episode: single_agent_turn, max_concurrent_episodes: 16, queue_timeout: 60s }
run:
  driver: episodes
  environment: maths
  agents: { agent: oracle }
  tasks: { benchmark: ${root}/benchmarks/gsm8k.yaml }
`,
    });
    const out = join(folder, "out");
    const ended = await touchstone([
      ...["run", join(folder, "c.yaml"), "--tasks", tasks],
      ...["--agent", "oracle", "--agent", "noop", "--out", out],
    ]);
    expect(ended).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^((oracle|noop) {2}\d+\/1319 .*\n)*$/),
    });
    for (const [agent, score] of Object.entries({ oracle: 1, noop: 0 })) {
      expect(metricsOf(join(out, agent))).toMatchObject({
        ...{ benchmark: "gsm8k", metric: "mean_reward", score, mean_reward: score },
        coverage: { expected: 1319, scored: 1319, failed: 0 },
      });
      expect(new Set(rolloutsOf(join(out, agent)).map(({ rollout_id: id }) => id)).size).toBe(1319);
      expect(ended.stdout).toContain(
        `${agent}: benchmark gsm8k: mean_reward ${score}.000 (baselines: oracle 1.000, noop 0.000)`,
      );
    }
  }, 240_000);
});

it("runs the example that a user's own environment begins with", async () => {
  const out = join(temporaryFolder({}), "guess");
  const ended = await touchstone(["run", "examples/guess-the-number.yaml", "--out", out]);
  expect(ended).toMatchObject({ code: 0, stderr: "" });
  expect(metricsOf(out)).toMatchObject({ mean_reward: 1, coverage: { scored: 5 } });
});

it("field-case-091: what is printed is what the files say", async () => {
  const { out, ended } = await runWorld([
    ...Array.from({ length: 5 }, () => ({ does: "score", reward: 0.5 })),
    { does: "mask" },
    { does: "leave-unscored" },
    { does: "fail", failure: { reason: "no disk\nlevel=error fake=1" } },
  ]);
  expect(ended.code).toBe(1);
  const { coverage, ...metrics } = metricsOf(out);
  expect(coverage).toEqual({
    expected: 8,
    scored: 5,
    masked: 2,
    unscored: 0,
    failed: 1,
    unfinished: 0,
    not_begun: 0,
  });
  const rewards = rolloutsOf(out).flatMap(({ reward, masked }) =>
    masked === null && reward !== null ? [reward] : [],
  );
  const mean = rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
  expect(metrics).toMatchObject({ mean_reward: mean, mean_reward_failures_as_zero: (mean * 5) / 6 });
  expect(table(ended.stdout)).toMatchObject([
    {
      agent: "noop",
      "mean reward": "0.500",
      scored: "5",
      masked: "2",
      unscored: "0",
      failed: "1",
      expected: "8",
    },
  ]);
  // field-case-042: the vendor's kind by its name, its reason on one line.
  expect(ended.stdout).toContain("noop: 1 failed: acme:disk_on_fire: no disk\\nlevel=error fake=1\n");
  expect(ended.stdout).toContain("noop: mean reward with failures as 0: 0.417\n");
});

it("field-case-038: a verifier that throws anything, and one that measures no number, touch nobody else", async () => {
  const { out, ended } = await runWorld([
    ...Array.from({ length: 6 }, () => ({ does: "score" })),
    { does: "throw-object" },
    { does: "score", reward: "NaN" },
  ]);
  expect(ended.code).toBe(1);
  expect(metricsOf(out)).toMatchObject({
    coverage: { expected: 8, scored: 6, failed: 2 },
    failures: { by_kind: { internal: 1, invalid_reward: 1 }, by_stage: { verify: 2 } },
  });
  expect(failuresOf(out)).toHaveLength(2);
});

it("files an observation that is too large for a message as a failure of that episode", async () => {
  const { out, ended } = await runWorld([{ does: "big" }, { does: "score" }], "  attempts: 1");
  expect(ended.code).toBe(1);
  expect(metricsOf(out).coverage).toMatchObject({ scored: 1, failed: 1 });
  expect(failuresOf(out)).toMatchObject([
    { task: { id: "1" }, final: true, failure: { stage: "STAGE_SEED" } },
  ]);
});

it("field-case-039: a clean-up that fails neither costs the verdict nor repeats the episode", async () => {
  const { out, ended } = await runWorld([{ does: "leak" }, { does: "score" }]);
  expect(ended.code).toBe(0);
  const [leaky, ...others] = rolloutsOf(out).filter(({ task }) => task.id === "1");
  expect(others).toEqual([]);
  expect(leaky).toMatchObject({ reward: 1, attempt: 0 });
  expect(leaky?.outcome).toMatchObject({
    cleanUps: expect.arrayContaining([
      expect.objectContaining({ failure: expect.objectContaining({ stage: "STAGE_CLEAN_UP" }) }),
    ]),
  });
});

it("field-case-110: identical rows with repeats are each run as often, in groups of their own", async () => {
  const { out, ended } = await runWorld(
    [{ does: "score" }, { does: "score" }, { does: "score" }],
    "  repeats: 2",
  );
  expect(ended.code).toBe(0);
  const members = rolloutsOf(out).map(
    ({ group_id: group, task, repeat }) => [group, task.id, repeat] as const,
  );
  expect(new Set(members.map(([group]) => group)).size).toBe(3);
  expect(members.map(([, id, repeat]) => `${id}/${repeat}`).sort()).toEqual([
    "1/0",
    "1/1",
    "2/0",
    "2/1",
    "3/0",
    "3/1",
  ]);
  expect(metricsOf(out)).toMatchObject({ groups: { groups: 3, uniform: 3, with_signal: 0 } });
});

it("field-case-092: a fresh run in the same place begins with nothing of the earlier one", async () => {
  const folder = temporaryFolder({
    "c.yaml": worldConfig("  attempts: 1"),
    "tasks.jsonl": tasksOf({ does: "score" }, { does: "fail", failure: { retry: 3 } }),
  });
  const out = join(folder, "out");
  for (const run of [1, 2]) {
    const { code, stderr } = await touchstone(["run", join(folder, "c.yaml"), "--out", out]);
    const note = run === 1 ? "" : `${out}: the run there is now in ${out}/earlier/1\n`;
    expect([code, stderr]).toEqual([1, note]);
    expect(failuresOf(out)).toMatchObject([{ attempt: 0, task: { id: "2" } }]);
    expect(metricsOf(out)).toMatchObject({
      coverage: { expected: 2, scored: 1, failed: 1 },
      failures: { attempts: 1 },
    });
  }
  expect(metricsOf(join(out, "earlier", "1"))["run_id"]).not.toBe(metricsOf(out)["run_id"]);
});

it("asks no model that no agent needs", async () => {
  const servers = '  policy: { model: "http://127.0.0.1:1" }';
  const config = worldConfig("  models: { agent: policy }", servers);
  const folder = temporaryFolder({ "c.yaml": config, "tasks.jsonl": tasksOf({ does: "score" }) });
  const ended = await touchstone(["run", join(folder, "c.yaml"), "--out", join(folder, "out")]);
  expect(ended).toMatchObject({ code: 0, stderr: "" });
});

it("takes tasks, agent, repeats and concurrency from the command line, and stores what it decided", async () => {
  const out = join(temporaryFolder({}), "changed");
  const ended = await touchstone([
    ...["run", "examples/gsm8k.yaml", "--out", out, "--tasks", "examples/gsm8k-sample.jsonl"],
    ...["--agent", "noop", "--repeats", "3", "--concurrency", "2"],
  ]);
  // A slow machine is told how far it is.
  expect(ended).toMatchObject({ code: 0, stderr: expect.stringMatching(/^(noop {2}\d+\/60 .*\n)*$/) });
  expect(metricsOf(out)).toMatchObject({ mean_reward: 0, coverage: { expected: 60, scored: 60 } });
  expect(parse(readFileSync(join(out, "config.yaml"), "utf8"))).toMatchObject({
    run: {
      agents: { agent: "noop" },
      tasks: { file: join(root, "examples/gsm8k-sample.jsonl"), row_schema: "gsm8k" },
      repeats: 3,
      concurrency: 2,
    },
  });
});
