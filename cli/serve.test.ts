import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import * as grpc from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { temporaryFolder } from "../test/temporary-folder.js";
import { metricsOf, type Running, root, served, start, touchstone } from "./fixtures/touchstone.js";

const config = `
servers:
  maths: { environment: reasoning }
  oracle: { agent: oracle }
  episodes: { episode: single_agent_turn }
`;

describe("servers in a process of their own", () => {
  let running: Running;
  let urls: Record<string, string>;

  beforeAll(async () => {
    running = start(["serve", join(temporaryFolder({ "c.yaml": config }), "c.yaml")]);
    urls = await served(running, ["maths", "oracle", "episodes"]);
  });
  afterAll(async () => {
    running.child.kill("SIGTERM");
    expect((await running.ended).code).toBe(0);
  });

  it("describes each, by every service that it has", async () => {
    const { code, stdout } = await touchstone(["describe", urls["maths"] ?? ""]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      "touchstone.v1.EnvironmentService": { environment: "reasoning", rowSchemas: ["gsm8k"] },
    });
    const episodes = await touchstone(["describe", urls["episodes"] ?? ""]);
    expect(JSON.parse(episodes.stdout)).toMatchObject({
      "touchstone.v1.EpisodeService": { bindings: { environments: ["maths"], agents: ["oracle"] } },
    });
  });

  it("runs episodes with environment and agent elsewhere, and with the driver elsewhere too", async () => {
    const run = `
run:
  driver: episodes
  environment: maths
  agents: { agent: oracle }
  tasks: { file: ${root}/examples/gsm8k-sample.jsonl, row_schema: gsm8k }
`;
    const elsewhere = (episodes: string) => `
servers:
  maths: { environment: "${urls["maths"]}" }
  oracle: { agent: "${urls["oracle"]}" }
  episodes: { episode: ${episodes} }
${run}`;
    for (const episodes of ["single_agent_turn", `"${urls["episodes"]}"`]) {
      const folder = temporaryFolder({ "c.yaml": elsewhere(episodes) });
      const ended = await touchstone(["run", join(folder, "c.yaml"), "--out", join(folder, "out")]);
      expect(ended).toMatchObject({ code: 0, stderr: "" });
      expect(metricsOf(join(folder, "out"))).toMatchObject({ mean_reward: 1, coverage: { scored: 20 } });
    }
  }, 60_000);

  it("refuses names that a driver elsewhere does not bind, before anything runs", async () => {
    const folder = temporaryFolder({
      "c.yaml": `
servers:
  sums: { environment: "${urls["maths"]}" }
  oracle: { agent: "${urls["oracle"]}" }
  episodes: { episode: "${urls["episodes"]}" }
run:
  driver: episodes
  environment: sums
  agents: { agent: oracle }
  tasks: { file: ${root}/examples/gsm8k-sample.jsonl, row_schema: gsm8k }
`,
    });
    expect(await touchstone(["run", join(folder, "c.yaml"), "--out", join(folder, "out")])).toMatchObject({
      code: 2,
      stderr: `${folder}/c.yaml:8: run.environment: episode server episodes binds no "sums"; it binds maths\n`,
    });
  });

  it("field-case-107: refuses tasks of another environment than the one that is served elsewhere", async () => {
    const folder = temporaryFolder({
      "c.yaml": `
servers:
  maths: { environment: "${urls["maths"]}" }
  oracle: { agent: oracle }
  episodes: { episode: single_agent_turn }
run:
  driver: episodes
  environment: maths
  agents: { agent: oracle }
  tasks: { file: tasks.jsonl }
`,
      "tasks.jsonl": '{"taskId":{"id":"1"}}\n{"taskId":{"id":"2"},"environment":"robots"}\n',
    });
    expect(await touchstone(["run", join(folder, "c.yaml"), "--out", join(folder, "out")])).toMatchObject({
      code: 2,
      stderr:
        'tasks.jsonl:2: expected a task for environment "reasoning", which server maths serves, found one for "robots"\n',
    });
  });
});

it("serves only the servers that are named, and refuses a name that there is not", async () => {
  const file = join(temporaryFolder({ "c.yaml": config }), "c.yaml");
  const running = start(["serve", file, "oracle"]);
  const urls = await served(running, ["oracle"]);
  expect(Object.keys(urls).filter((name) => name !== "")).toEqual(["oracle"]);
  running.child.kill("SIGINT");
  expect(await running.ended).toMatchObject({
    code: 0,
    stderr: "draining: nothing new is taken, what is held goes on; again to leave at once\n",
  });
  expect(await touchstone(["serve", file, "orcale"])).toMatchObject({
    code: 2,
    stderr: `${file}: no server "orcale"; did you mean "oracle"?\n`,
  });
});

it("tells which server's port is in use", async () => {
  const holder = createServer();
  await new Promise<void>((resolve) => holder.listen(0, "127.0.0.1", resolve));
  const { port } = holder.address() as { port: number };
  const text = config.replace("reasoning }", `reasoning, listen: "127.0.0.1:${port}" }`);
  const file = join(temporaryFolder({ "c.yaml": text }), "c.yaml");
  expect(await touchstone(["serve", file])).toMatchObject({
    code: 2,
    stdout: "",
    stderr: `${file}: servers.maths: cannot listen on 127.0.0.1:${port}: the address is in use; stop the process that uses it or choose another port\n`,
  });
  await new Promise((resolve) => holder.close(resolve));
});

it("tells what is wrong with the server that it is to describe", async () => {
  const server = new grpc.Server();
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  );
  const url = `http://127.0.0.1:${port}`;
  expect(await touchstone(["describe", url])).toMatchObject({
    code: 2,
    stderr: `${url}: expected a service of touchstone.v1, found none; check the address\n`,
  });
  server.forceShutdown();
  const gone = await touchstone(["describe", "http://127.0.0.1:1"]);
  expect([gone.code, gone.stderr]).toEqual([
    2,
    expect.stringMatching(/^http:\/\/127\.0\.0\.1:1: cannot be asked what it is: .+\n$/),
  ]);
  const nonsense = await touchstone(["describe", "http://user:S3CRET@host"]);
  expect(nonsense).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^an endpoint is .*send credentials as headers\n$/),
  });
  expect(nonsense.stderr).not.toContain("S3CRET");
}, 60_000);

/** Ports of the loopback interface that were free a moment ago. */
async function freePorts(count: number): Promise<number[]> {
  const holders = Array.from({ length: count }, () => createServer());
  await Promise.all(holders.map((holder) => once(holder.listen(0, "127.0.0.1"), "listening")));
  const ports = holders.map((holder) => (holder.address() as { port: number }).port);
  await Promise.all(holders.map((holder) => once(holder.close(), "close")));
  return ports;
}

it("checks and runs a configuration while it is being served, its ports and its metrics taken", async () => {
  const [port, metrics] = await freePorts(2);
  const listening = config.replace("reasoning }", `reasoning, listen: "127.0.0.1:${port}" }`);
  const run = `
telemetry: { prometheus: "127.0.0.1:${metrics}" }
run:
  driver: episodes
  environment: maths
  agents: { agent: oracle }
  tasks: { file: ${root}/examples/gsm8k-sample.jsonl, row_schema: gsm8k }
`;
  const file = join(temporaryFolder({ "c.yaml": `${listening}${run}` }), "c.yaml");
  const running = start(["serve", file]);
  expect(await served(running, ["maths", "oracle", "episodes"])).toMatchObject({
    maths: `http://127.0.0.1:${port}`,
  });
  expect(await touchstone(["check", file])).toMatchObject({ code: 0, stderr: "" });
  const ended = await touchstone(["run", file, "--out", `${file}.out`]);
  expect(ended).toMatchObject({ code: 0 });
  expect(ended.stderr).not.toMatch(/in use/);
  expect(metricsOf(`${file}.out`)).toMatchObject({ mean_reward: 1 });
  running.child.kill("SIGTERM");
  expect((await running.ended).code).toBe(0);
}, 60_000);
