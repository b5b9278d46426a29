import { once } from "node:events";
import { createServer } from "node:http";
import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "../test/temporary-folder.js";
import {
  metricsOf,
  rolloutsOf,
  root,
  served,
  start,
  tasksOf,
  touchstone,
  worldConfig,
} from "./fixtures/touchstone.js";

const relayed = (options: string) =>
  `  relay: { episode: external, options: ${options} }\n  third: { episode: multi_turn }`;
const byRelay = (config: string) => config.replace("driver: episodes", "driver: relay");

it("starts the episode server that plays for a run's external one, and checks what that asks for", async () => {
  const config = byRelay(worldConfig("", relayed("{ server: episodes }")));
  const folder = temporaryFolder({ "c.yaml": config, "tasks.jsonl": tasksOf({ does: "score" }) });
  const ended = await touchstone(["run", join(folder, "c.yaml"), "--out", join(folder, "out")]);
  expect(ended).toMatchObject({ code: 0, stderr: "" });
  expect(rolloutsOf(join(folder, "out"))).toMatchObject([
    { reward: 1, outcome: { verdict: { provenance: { authority: "REWARD_AUTHORITY_EXTERNAL" } } } },
  ]);
  const checked = await touchstone(["check", join(folder, "c.yaml"), "--run"]);
  expect([checked.code, checked.stdout]).toEqual([
    0,
    expect.stringMatching(/\nrun +world +noop +- +relay +external +yes\n/),
  ]);
  // What plays wants of the environment what it does not declare.
  const turns = config.replace("{ server: episodes }", "{ server: third }");
  const unmet = await touchstone([
    "run",
    join(temporaryFolder({ "c.yaml": turns, "tasks.jsonl": tasksOf({ does: "score" }) }), "c.yaml"),
    "--out",
    join(folder, "none"),
  ]);
  expect([unmet.code, unmet.stderr]).toEqual([
    2,
    expect.stringMatching(
      /c\.yaml:\d+: run\.environment: the driver needs STEP, which environment "world" does not declare/,
    ),
  ]);
}, 60_000);

it.each([
  ["{}", /relay\.options\.server: expected the name of the episode server that plays: episodes, third$/m],
  [
    "{ server: episode }",
    /relay\.options\.server: no other episode server "episode"; did you mean "episodes"\?$/m,
  ],
])("refuses an external driver with %s, naming where it should say who plays", async (options, words) => {
  const folder = temporaryFolder({ "c.yaml": byRelay(worldConfig("", relayed(options))) });
  const { code, stderr } = await touchstone(["run", join(folder, "c.yaml"), "--out", join(folder, "out")]);
  expect([code, stderr]).toEqual([2, expect.stringMatching(words)]);
});

it("needs no environment and no agents of its own where another server plays", async () => {
  const there = temporaryFolder({ "c.yaml": worldConfig() });
  const running = start(["serve", join(there, "c.yaml")]);
  const { episodes } = await served(running, ["world", "noop", "episodes"]);
  const config = (environment: string) => `
servers:
  far: { episode: "${episodes}" }
  relay: { episode: external }
run:
  driver: relay
  environment: ${environment}
  agents: { agent: noop }
  tasks: { file: tasks.jsonl }
`;
  const task = JSON.stringify({ task_id: "1", environment: "scripted", public_json: { does: "score" } });
  const folder = temporaryFolder({
    "c.yaml": config("world"),
    "bad.yaml": config("wrold"),
    "tasks.jsonl": task,
  });
  const ended = await touchstone(["run", join(folder, "c.yaml"), "--out", join(folder, "out")]);
  expect(ended).toMatchObject({ code: 0, stderr: "" });
  expect(metricsOf(join(folder, "out"))).toMatchObject({ mean_reward: 1, coverage: { scored: 1 } });
  expect((await touchstone(["check", join(folder, "c.yaml")])).code).toBe(0);
  const unbound = await touchstone(["run", join(folder, "bad.yaml"), "--out", join(folder, "none")]);
  expect([unbound.code, unbound.stderr]).toEqual([
    2,
    expect.stringMatching(
      /bad\.yaml:7: run\.environment: episode server far binds no "wrold"; it binds world$/m,
    ),
  ]);
  // Served at the same time, their metrics are told there.
  const metrics = createServer().listen(0, "127.0.0.1");
  await once(metrics, "listening");
  const { port } = metrics.address() as { port: number };
  const told = `${config("world")}telemetry: { prometheus: "127.0.0.1:${port}" }\n`;
  const beside = temporaryFolder({ "c.yaml": told, "tasks.jsonl": task });
  expect(await touchstone(["run", join(beside, "c.yaml"), "--out", join(beside, "out")])).toMatchObject({
    code: 0,
    stderr: "",
  });
  metrics.close();
  running.child.kill("SIGTERM");
  await running.ended;
}, 60_000);

it("needs neither where a service plays that does not speak the contract", async () => {
  const service = createServer(async (request, answer) => {
    let row = "";
    for await (const chunk of request) row += String(chunk);
    answer.end(JSON.stringify({ ...JSON.parse(row), reward: 0.5 }));
  }).listen(0, "127.0.0.1");
  await once(service, "listening");
  const { port } = service.address() as { port: number };
  const config = `
servers:
  legacy: { episode: external, options: { run: { url: "http://127.0.0.1:${port}/run" } } }
run:
  driver: legacy
  tasks: { file: ${root}/examples/gsm8k-sample.jsonl, row_schema: gsm8k }
`;
  const folder = temporaryFolder({ "c.yaml": config });
  expect((await touchstone(["check", join(folder, "c.yaml")])).code).toBe(0);
  const ended = await touchstone(["run", join(folder, "c.yaml"), "--out", join(folder, "out")]);
  service.close();
  expect(ended).toMatchObject({ code: 0, stderr: "", stdout: expect.stringMatching(/\nlegacy +0\.500 /) });
  expect(metricsOf(join(folder, "out"))).toMatchObject({ mean_reward: 0.5, coverage: { scored: 20 } });
}, 60_000);

it("still wants an environment and agents where it plays itself", async () => {
  const config = worldConfig().replace(/ +environment: world\n +agents: .*\n/, "");
  const folder = temporaryFolder({ "c.yaml": config });
  const { code, stderr } = await touchstone(["run", join(folder, "c.yaml"), "--out", join(folder, "out")]);
  expect([code, stderr.replaceAll(`${folder}/`, "")]).toEqual([
    2,
    "c.yaml:7: run.environment: expected the name of an environment server, found nothing\nc.yaml:7: run.agents: expected at least one agent, found none\n",
  ]);
});
