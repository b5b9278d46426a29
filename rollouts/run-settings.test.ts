import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { ConfigError } from "../servers/composition/config-error.js";
import { type Config, loadConfig } from "../servers/composition/load-config.js";
import { temporaryFolder } from "../test/temporary-folder.js";
import { readBenchmark } from "./benchmark.js";
import { runPlayers } from "./run-players.js";
import { agentsWith, configuredRun, serversOf, settle } from "./run-settings.js";
import { taskSources } from "./task-source.js";

const benchmarkText = `
name: maths
environment: reasoning
tasks: { file: t.jsonl, row_schema: gsm8k, split: test, digest: "sha256:${"0".repeat(64)}" }
metric: mean_reward
driver: single_agent_turn
protocol: { repeats: 2, attempts: 1, budget: { max_turns: 5 } }
`;

async function configOf(run: string, benchmark = benchmarkText): Promise<Config> {
  const text = `
servers:
  maths: { environment: reasoning }
  oracle: { agent: oracle }
  noop: { agent: noop }
  script: { model: echo }
  episodes: { episode: single_agent_turn }
run: { driver: episodes, environment: maths, agents: { agent: oracle }, ${run} }
`;
  return await loadConfig(join(temporaryFolder({ "b.yaml": benchmark, "c.yaml": text }), "c.yaml"));
}

async function settings(run: string, changes: Parameters<typeof settle>[1] = {}) {
  const config = await configOf(run);
  const configured = configuredRun(config);
  const { benchmark } = await taskSources(config, configured);
  const players = await runPlayers(config, configured, benchmark?.driver);
  return settle(configured, changes, { config, benchmark, players });
}

it("takes what the command line says, then the configuration, then the defaults", async () => {
  expect(await settings("tasks: { file: t }")).toMatchObject({ repeats: 1, attempts: 3, concurrency: 16 });
  expect(await settings("tasks: { file: t }, repeats: 4, attempts: 2")).toMatchObject({
    repeats: 4,
    attempts: 2,
  });
  expect(await settings("tasks: { file: t }, repeats: 4", { repeats: 8, concurrency: 2 })).toMatchObject({
    repeats: 8,
    concurrency: 2,
  });
});

it("takes the protocol and the driver that a benchmark pins", async () => {
  expect(await settings("tasks: { benchmark: b.yaml }")).toMatchObject({
    repeats: 2,
    attempts: 1,
    budget: { max_turns: 5 },
    driverName: "single_agent_turn",
  });
});

it("refuses another protocol than the benchmark's, naming each difference", async () => {
  const run = "tasks: { benchmark: b.yaml }, attempts: 3, budget: { max_turns: 6 }";
  const error: unknown = await settings(run, { repeats: 4 }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ConfigError);
  const told = error instanceof ConfigError ? error.problems : [];
  expect(told.map((problem) => problem.replace(/^.*c\.yaml:\d+: /, ""))).toEqual([
    "run.repeats: benchmark maths pins 2, found 4; leave it out, or run its file as plain tasks",
    "run.attempts: benchmark maths pins 1, found 3; leave it out, or run its file as plain tasks",
    'run.budget: benchmark maths pins {"max_turns":5}, found {"max_turns":6}; leave it out, or run its file as plain tasks',
  ]);
});

it("puts another agent in the place of the first, and knows which servers a run needs", async () => {
  const config = await configOf("tasks: { file: t }, models: { agent: script }");
  const run = configuredRun(config);
  const players = await runPlayers(config, run);
  const agents = agentsWith(run, "noop", { config, players });
  expect(agents).toEqual({ agent: "noop" });
  const settled = settle({ ...run, agents }, {}, { config, benchmark: undefined, players });
  expect(serversOf(config, settled)).toEqual(["maths", "noop", "script", "episodes"]);
  expect(() => agentsWith(run, "maths", { config, players })).toThrow(
    /--agent: .*c\.yaml has no agent server "maths"/,
  );
  expect(() => agentsWith(run, "orcale", { config, players })).toThrow(/did you mean "oracle"\?/);
});

it("refuses a configuration without a run", async () => {
  const file = join(temporaryFolder({ "c.yaml": "servers: {}\n" }), "c.yaml");
  const config = await loadConfig(file);
  expect(() => configuredRun(config)).toThrow(`${file}: run: is missing; say there what to run`);
});

it("finds files from where they are named: the configuration, the benchmark, the command line", async () => {
  const config = await configOf("tasks: [{ file: a.jsonl }, { file: /b.jsonl, row_schema: gsm8k }]");
  const { sources } = await taskSources(config, configuredRun(config));
  expect(sources).toMatchObject([
    { file: join(config.folder, "a.jsonl"), shown: "a.jsonl", rowSchema: undefined },
    { file: "/b.jsonl", rowSchema: "gsm8k" },
  ]);
  const pinned = await configOf("tasks: { benchmark: b.yaml }");
  expect(await taskSources(pinned, configuredRun(pinned))).toMatchObject({
    sources: [{ file: join(pinned.folder, "t.jsonl"), shown: "t.jsonl", rowSchema: "gsm8k", split: "test" }],
    benchmark: { name: "maths" },
  });
  expect((await taskSources(pinned, configuredRun(pinned), "x.jsonl")).sources).toMatchObject([
    { file: resolve("x.jsonl"), shown: "x.jsonl" },
  ]);
});

it("refuses --tasks where it would replace something else than a file", async () => {
  const several = await configOf("tasks: [{ file: a }, { file: b }]");
  await expect(taskSources(several, configuredRun(several), "x")).rejects.toThrow(
    "--tasks: replaces a single file",
  );
  const listed = await configOf("tasks: { split: test }");
  await expect(taskSources(listed, configuredRun(listed), "x")).rejects.toThrow(
    "--tasks: replaces a single file",
  );
});

it("refuses a benchmark beside other tasks, and one that ships none without --tasks", async () => {
  const beside = await configOf("tasks: [{ benchmark: b.yaml }, { file: a }]");
  await expect(taskSources(beside, configuredRun(beside))).rejects.toThrow(
    /c\.yaml:8: run\.tasks: a benchmark stands alone/,
  );
  const bare = await configOf("tasks: { benchmark: b.yaml }", benchmarkText.replace("file: t.jsonl, ", ""));
  await expect(taskSources(bare, configuredRun(bare))).rejects.toThrow(
    "ships no tasks; give its file with --tasks",
  );
});

it("refuses a benchmark that is none, with the line", async () => {
  const config = await configOf("tasks: { benchmark: b.yaml }", benchmarkText.replace("metric:", "metrc:"));
  await expect(readBenchmark(join(config.folder, "b.yaml"))).rejects.toThrow(
    /b\.yaml:5: metrc: unknown key; did you mean "metric"\?/,
  );
});

it("reads the benchmarks of this package", async () => {
  const benchmark = await readBenchmark(resolve(import.meta.dirname, "../benchmarks/gsm8k.yaml"));
  expect(benchmark).toMatchObject({
    name: "gsm8k",
    environment: "reasoning",
    metric: "mean_reward",
    file: undefined,
  });
});
