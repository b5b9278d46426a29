import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import * as grpc from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { serveGrpc } from "../clients/fixtures/grpc-server.js";
import { EnvironmentService, ModelService } from "../gen/index.js";
import { temporaryFolder } from "../test/temporary-folder.js";
import { root, tasksOf, touchstone, worldConfig } from "./fixtures/touchstone.js";

const maths = (change: { tasks?: string; servers?: string; environment?: string; run?: string } = {}) => `
servers:
  maths: { environment: ${change.environment ?? "reasoning"} }
  oracle: { agent: oracle }
  solver: { agent: tool-loop }
  episodes: { episode: single_agent_turn }
${change.servers ?? ""}
run:
  driver: episodes
  environment: maths
  agents: { agent: oracle }
  tasks: ${change.tasks ?? "{ file: tasks.jsonl, row_schema: gsm8k }"}
${change.run ?? ""}
`;
const goodRow = JSON.stringify({ question: "How many?", answer: "One.\n#### 1" });

/** Runs a configuration that must be refused, and tells its words; nothing may be left behind. */
async function refused(
  files: Readonly<Record<string, string>>,
  args: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
): Promise<string[]> {
  const folder = temporaryFolder({ "tasks.jsonl": goodRow, ...files });
  const out = join(folder, "out");
  const inFolder = args.map((arg) => arg.replace("$FOLDER", folder));
  const ended = await touchstone(["run", join(folder, "c.yaml"), "--out", out, ...inFolder], env);
  expect(ended).toMatchObject({ code: 2, stdout: "" });
  expect(existsSync(out)).toBe(false);
  return ended.stderr.replaceAll(`${folder}/`, "").replaceAll(`${root}/`, "").split("\n").filter(Boolean);
}

describe("field-case-103: tasks are read before anything starts", () => {
  it("tells every row that is malformed", async () => {
    const tasks = [goodRow, "{not json", goodRow, '{"question": "q"', ""].join("\n");
    expect(await refused({ "c.yaml": maths(), "tasks.jsonl": tasks })).toEqual([
      "tasks.jsonl:2: expected one JSON value, found text that is no JSON at column 2",
      "tasks.jsonl:4: expected one JSON value, found text that is no JSON at column 17",
    ]);
  });

  it("tells line, path, expected and found of fields that are wrong", async () => {
    const row = (value: object) => JSON.stringify(value);
    const tasks = [goodRow, row({ question: 7, answer: "#### 1" }), row({ question: "q" })].join("\n");
    // The port of the server is taken: were it started first, that would be the error.
    const holder = createServer();
    await new Promise<void>((resolve) => holder.listen(0, "127.0.0.1", resolve));
    const { port } = holder.address() as { port: number };
    const url = `public_url: "http://127.0.0.1:${port}"`;
    const config = maths().replace("reasoning }", `reasoning, listen: "127.0.0.1:${port}", ${url} }`);
    expect(await refused({ "c.yaml": config, "tasks.jsonl": tasks })).toEqual([
      "tasks.jsonl:2: row.question: expected a text, found a number",
      "tasks.jsonl:3: row.answer: expected a text, found nothing",
    ]);
    expect(await refused({ "c.yaml": config })).toEqual([
      `c.yaml: servers.maths: cannot listen on 127.0.0.1:${port}: the address is in use; stop the process that uses it or choose another port`,
    ]);
    await new Promise((resolve) => holder.close(resolve));
  });

  it("lets a module of the user judge its tasks, in its own words", async () => {
    const tasks = tasksOf({ does: "score" }, { does: "fly" }, { does: "fail", failure: { customKind: 7 } });
    expect(await refused({ "c.yaml": worldConfig(), "tasks.jsonl": tasks })).toEqual([
      expect.stringMatching(/^tasks\.jsonl:2: public_json\.does: expected one of "score"\|"mask"/),
      "tasks.jsonl:3: public_json.failure: expected a name, found a number",
    ]);
  });
});

it("field-case-107: refuses tasks of an environment that nobody serves", async () => {
  const task = (id: string, environment?: string) =>
    JSON.stringify({
      taskId: { id },
      ...(environment === undefined ? {} : { environment }),
      publicJson: '{"kind":"arithmetic","index":0}',
    });
  const tasks = [task("1", "reasoning"), task("2", "robots"), task("3")].join("\n");
  expect(
    await refused({ "c.yaml": maths({ tasks: "{ file: tasks.jsonl }" }), "tasks.jsonl": tasks }),
  ).toEqual([
    'tasks.jsonl:2: expected a task for environment "reasoning", which server maths serves, found one for "robots"',
  ]);
});

it("field-case-110: refuses tasks of one id, across files too", async () => {
  const files = {
    "c.yaml": maths({ tasks: "[{ file: tasks.jsonl }, { file: more.jsonl }]" }),
    "tasks.jsonl": '{"taskId":{"id":"4"},"publicJson":"{\\"kind\\":\\"strings\\",\\"index\\":0}"}',
    "more.jsonl": '\n{"taskId":{"id":"4"},"publicJson":"{\\"kind\\":\\"strings\\",\\"index\\":9}"}',
  };
  expect(await refused(files)).toEqual([
    'more.jsonl:2: expected a task id of its own, found "4", which tasks.jsonl:1 has',
  ]);
});

it("field-case-105, field-case-113, field-case-056: refuses configurations with their lines", async () => {
  const config = maths({
    servers: `  far: { agent: "http://127.0.0.1:9", credential: "\${TOUCHSTONE_TEST_TOKEN}" }
  capped: { episode: single_agent_turn, max_concurrent_episodes: 4 }
  timed: { episode: single_agent_turn, episode_timeout: 30 }`,
    run: "  concurency: 4",
  });
  expect(
    await refused({ "c.yaml": config }, [], { TOUCHSTONE_TEST_TOKEN: "", OPENAI_API_KEY: "sk-S3CRET" }),
  ).toEqual([
    "c.yaml:7: servers.far.credential: the environment variable TOUCHSTONE_TEST_TOKEN is empty; give it a value",
    "c.yaml:8: servers.capped: max_concurrent_episodes without queue_timeout: say how long a caller may wait, 0s for not at all",
    "c.yaml:9: servers.timed.episode_timeout: expected a duration with its unit, such as 500ms, 30s or 5m",
    'c.yaml:15: run.concurency: unknown key; did you mean "concurrency"?',
  ]);
});

it("refuses agents that there are not, all of those that were asked for before any of them runs", async () => {
  expect(await refused({ "c.yaml": maths() }, ["--agent", "oracle", "--agent", "orcale"])).toEqual([
    '--agent: c.yaml has no agent server "orcale"; did you mean "oracle"?',
  ]);
});

it("refuses pairs that cannot work, before the first of several runs", async () => {
  expect(await refused({ "c.yaml": maths() }, ["--agent", "oracle", "--agent", "solver"])).toEqual([
    'c.yaml:8: run.models.agent: agent "solver" needs a model, none is bound',
  ]);
});

it("refuses a task that is larger than a message may be", async () => {
  const tasks = [goodRow, JSON.stringify({ question: "x".repeat(5 << 20), answer: "#### 1" })].join("\n");
  expect(await refused({ "c.yaml": maths(), "tasks.jsonl": tasks })).toEqual([
    expect.stringMatching(
      /^tasks\.jsonl:2: expected a task whose message has at most 4194304 bytes, found 52\d{5}$/,
    ),
  ]);
});

it("refuses a benchmark over other tasks than it pins, or of another environment", async () => {
  const benchmark = join(root, "benchmarks/gsm8k.yaml");
  const config = maths({ tasks: `{ benchmark: ${benchmark} }` });
  expect(await refused({ "c.yaml": config }, ["--tasks", "$FOLDER/tasks.jsonl"])).toEqual([
    expect.stringMatching(
      /^tasks\.jsonl: expected the tasks that benchmark gsm8k pins \(sha256:3730d312\w+\), found sha256:\w+; give that file/,
    ),
  ]);
});

it("refuses an --out that is a file", async () => {
  const folder = temporaryFolder({ "c.yaml": maths(), "tasks.jsonl": goodRow, out: "a file" });
  const ended = await touchstone(["run", join(folder, "c.yaml"), "--out", join(folder, "out")]);
  expect(ended).toMatchObject({
    code: 2,
    stderr: `${join(folder, "out")}: expected a folder, found a file; choose another --out\n`,
  });
});

it.each([
  [["run", "c.yaml"], "error: required option '--out <dir>' not specified"],
  [["run", "--out", "o"], "error: missing required argument 'config'"],
  [["run", "c.yaml", "--out", "o", "--repeats", "0"], "expected a whole number of 1 or more"],
  [["run", "c.yaml", "--out", "o", "--repeat", "2"], "error: unknown option '--repeat'"],
  [["rn"], "error: unknown command 'rn'"],
  [["run", "no-such.yaml", "--out", "o"], "no-such.yaml: cannot be read (ENOENT)"],
])("ends %j with 2", async (args, words) => {
  const { code, stderr } = await touchstone(args);
  expect([code, stderr]).toEqual([2, expect.stringContaining(words)]);
});

describe("servers elsewhere", () => {
  let model: Awaited<ReturnType<typeof serveGrpc>>;
  let other: grpc.Server;
  let otherPort: number;

  beforeAll(async () => {
    model = await serveGrpc(ModelService, {
      Generate: (_call: unknown, answer: grpc.sendUnaryData<unknown>) => answer(null, null),
    });
    other = new grpc.Server();
    otherPort = await new Promise<number>((resolve, reject) =>
      other.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, port) =>
        error === null ? resolve(port) : reject(error),
      ),
    );
  });
  afterAll(async () => {
    await model[Symbol.asyncDispose]();
    other.forceShutdown();
  });

  it("tells a server that cannot be reached, one of another package, and one of another service", async () => {
    const config = `
servers:
  maths: { environment: "http://127.0.0.1:1" }
  solver: { agent: tool-loop }
  policy: { model: "${model.url}" }
  episodes: { episode: "http://127.0.0.1:${otherPort}" }
run:
  driver: episodes
  environment: maths
  agents: { agent: solver }
  models: { agent: policy }
  tasks: { file: tasks.jsonl }
`;
    const tasks = '{"taskId":{"id":"1"}}';
    expect((await refused({ "c.yaml": config, "tasks.jsonl": tasks })).sort()).toEqual([
      `servers.episodes: http://127.0.0.1:${otherPort}: expected touchstone.v1.EpisodeService there, found a server without it (it says: The server does not implement the method /touchstone.v1.EpisodeService/Describe); check the address`,
      expect.stringMatching(
        /^servers\.maths: http:\/\/127\.0\.0\.1:1: cannot be asked what it is: .*; check that it runs and the address$/,
      ),
      `servers.policy: ${model.url}: expected touchstone.v1.ModelService there, found a server without it (it says: The server does not implement the method /touchstone.v1.ModelService/Describe); check the address`,
    ]);
  });

  it("tells a server's own words, on one line and cut, with its reason", async () => {
    const words = `no entry\u001b[2J\nfor you${"!".repeat(1000)}`;
    await using guarded = await serveGrpc(EnvironmentService, {
      Describe: (_call: unknown, answer: grpc.sendUnaryData<unknown>) =>
        answer({ code: grpc.status.PERMISSION_DENIED, details: words }),
    });
    const config = maths({ environment: `"${guarded.url}"` });
    const told = await refused({ "c.yaml": config });
    expect(told).toHaveLength(1);
    expect(told[0]).toMatch(
      /^servers\.maths: http:\S+: cannot be asked what it is: no entry\\u001b\[2J\\nfor you!{1,290}\.\.\. \(\d+ characters\) \(PERMISSION_DENIED\); check/,
    );
  });

  it("tells malformed rows before anything is asked of them", async () => {
    const config = maths({ environment: '"http://127.0.0.1:1"' });
    expect(await refused({ "c.yaml": config, "tasks.jsonl": "nonsense" })).toEqual([
      "tasks.jsonl:1: expected one JSON value, found text that is no JSON",
    ]);
  });
});
