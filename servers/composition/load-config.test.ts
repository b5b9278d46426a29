import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "../../test/temporary-folder.js";
import { ConfigError } from "./config-error.js";
import { type Config, loadConfig } from "./load-config.js";

async function load(text: string, environment: NodeJS.ProcessEnv = {}): Promise<Config> {
  return await loadConfig(join(temporaryFolder({ "c.yaml": text }), "c.yaml"), environment);
}

/** The problems of a configuration, without the folder. */
async function problems(text: string, environment: NodeJS.ProcessEnv = {}): Promise<readonly string[]> {
  const error: unknown = await load(text, environment).catch((thrown: unknown) => thrown);
  if (!(error instanceof ConfigError)) throw new Error("expected a ConfigError", { cause: error });
  return error.problems.map((problem) => problem.replace(/^.*\/c\.yaml/, "c.yaml"));
}

const good = `
servers:
  maths: { environment: reasoning }
  far: { environment: "https://env.example", credential: "\${FAR_TOKEN}" }
  solver: { agent: tool-loop }
  policy: { model: echo }
  episodes: { episode: single_agent_turn, max_concurrent_episodes: 4, queue_timeout: 60s, episode_timeout: 30m }
run:
  driver: episodes
  environment: maths
  agents: { agent: solver }
  models: { agent: policy }
  tasks: { file: t.jsonl, row_schema: gsm8k }
`;

it("reads a configuration with its defaults", async () => {
  const { servers, run } = await load(good, { FAR_TOKEN: "t0ken" });
  expect(servers.get("far")).toMatchObject({ kind: "environment", entry: { credential: "t0ken" } });
  expect(servers.get("episodes")).toMatchObject({
    kind: "episode",
    entry: { queue_timeout: 60_000, episode_timeout: 1_800_000 },
  });
  expect(run).toMatchObject({
    concurrency: 16,
    breaker: 10,
    seed: 0,
    on_agent_failure: "fail",
    capture: "items",
  });
});

it("keeps what the file says, variables unread", async () => {
  const { written } = await load(good, { FAR_TOKEN: "t0ken" });
  expect(JSON.stringify(written)).toContain(`\${FAR_TOKEN}`);
  expect(JSON.stringify(written)).not.toContain("t0ken");
});

it("tells every problem at once, each with its line", async () => {
  expect(
    await problems(`
servers:
  maths: { environment: reasoning, max_session: 4 }
  nothing: { listen: 127.0.0.1:1 }
  typo: { enviroment: reasoning }
rum: {}
`),
  ).toEqual([
    'c.yaml:6: rum: unknown key; did you mean "run"?',
    'c.yaml:3: servers.maths.max_session: unknown key; did you mean "max_sessions"?',
    "c.yaml:4: servers.nothing: expected exactly one of the keys environment, agent, model, episode, sandbox",
    'c.yaml:5: servers.typo: expected exactly one of the keys environment, agent, model, episode, sandbox; found "enviroment"; did you mean "environment"?',
  ]);
});

it("field-case-105: refuses a misspelt limit, a duration without unit and limits that would not hold", async () => {
  expect(
    await problems(`
servers:
  e: { episode: single_agent_turn, max_concurrent_episode: 4 }
  f: { episode: single_agent_turn, cleanup_timeout: "10" }
  g: { environment: "http://127.0.0.1:1", max_sessions: 4, queue_timeout: 1s }
`),
  ).toEqual([
    'c.yaml:3: servers.e.max_concurrent_episode: unknown key; did you mean "max_concurrent_episodes"?',
    "c.yaml:4: servers.f.cleanup_timeout: expected a duration with its unit, such as 500ms, 30s or 5m",
    "c.yaml:5: servers.g.max_sessions: does nothing for a server that runs elsewhere; set it there",
    "c.yaml:5: servers.g.queue_timeout: does nothing for a server that runs elsewhere; set it there",
  ]);
});

it("field-case-056: refuses a cap without a queue timeout, naming both keys, and the other way round", async () => {
  expect(
    await problems(`
servers:
  a: { episode: single_agent_turn, max_concurrent_episodes: 4 }
  b: { environment: reasoning, max_sessions: 4 }
  c: { model: echo, max_concurrent_calls: 4 }
  d: { episode: single_agent_turn, queue_timeout: 5s }
  e: { episode: single_agent_turn, max_concurrent_episodes: 4, queue_timeout: -1s }
  f: { episode: single_agent_turn, max_concurrent_episodes: 4, queue_timeout: 5 }
`),
  ).toEqual([
    "c.yaml:3: servers.a: max_concurrent_episodes without queue_timeout: say how long a caller may wait, 0s for not at all",
    "c.yaml:4: servers.b: max_sessions without queue_timeout: say how long a caller may wait, 0s for not at all",
    "c.yaml:5: servers.c: max_concurrent_calls without queue_timeout: say how long a caller may wait, 0s for not at all",
    "c.yaml:6: servers.d.queue_timeout: bounds nothing without max_concurrent_episodes",
    "c.yaml:7: servers.e.queue_timeout: expected a duration with its unit, such as 500ms, 30s or 5m",
    "c.yaml:8: servers.f.queue_timeout: expected a duration with its unit, such as 500ms, 30s or 5m",
  ]);
});

it("field-case-112: says why there are no workers", async () => {
  expect(await problems("servers:\n  maths: { environment: reasoning, workers: 2 }\n")).toEqual([
    "c.yaml:2: servers.maths.workers: unknown key; a server is one process, since its sessions live in it; for more, start more servers under names of their own",
  ]);
});

it("field-case-107: refuses names that no server has, telling what there is", async () => {
  const run = (change: string) => good.replace("FAR_TOKEN", "T").concat(change);
  expect(await problems(run("").replace("environment: maths\n", "environment: math\n"), { T: "t" })).toEqual([
    'c.yaml:10: run.environment: no environment server "math"; did you mean "maths"?',
  ]);
  expect(await problems(run("").replace("driver: episodes", "driver: maths"), { T: "t" })).toEqual([
    'c.yaml:9: run.driver: no episode server "maths"; known: episodes',
  ]);
  expect(await problems(run("").replace("models: { agent:", "models: { agnet:"), { T: "t" })).toEqual([
    'c.yaml:12: run.models.agnet: run.agents has no agent_id "agnet"; did you mean "agent"?',
  ]);
  expect(await problems(run("  sandbox: boxes\n"), { T: "t" })).toEqual([
    'c.yaml:14: run.sandbox: no sandbox server "boxes"; there is none',
  ]);
});

it("field-case-113: names an unset and an empty variable", async () => {
  expect(await problems(good, { OPENAI_API_KEY: "other" })).toEqual([
    "c.yaml:4: servers.far.credential: the environment variable FAR_TOKEN is not set; give it a value",
  ]);
  expect(await problems(good, { FAR_TOKEN: "" })).toEqual([
    "c.yaml:4: servers.far.credential: the environment variable FAR_TOKEN is empty; give it a value",
  ]);
});

it("field-case-130: refuses credentials in a URL without repeating them", async () => {
  const told = await problems('servers:\n  far: { environment: "https://user:S3CRET@env.example" }\n');
  expect(told).toEqual([
    "c.yaml:2: servers.far.environment: an endpoint is http://host:port, https://host:port or unix:///path; found a user or password in it: send credentials as headers",
  ]);
});

it("refuses a public_url that is no place, or of a server that runs elsewhere", async () => {
  expect(await problems("servers:\n  maths: { environment: reasoning, public_url: env.example }\n")).toEqual([
    "c.yaml:2: servers.maths.public_url: expected http://host:port or https://host:port",
  ]);
  const far = 'servers:\n  far: { environment: "http://a.example:1", public_url: "http://b.example:1" }\n';
  expect(await problems(far)).toEqual([
    "c.yaml:2: servers.far.public_url: does nothing for a server that runs elsewhere; set it there",
  ]);
});

it("refuses a port that there is not", async () => {
  expect(
    await problems("servers:\n  maths: { environment: reasoning, listen: '127.0.0.1:70000' }\n"),
  ).toEqual(["c.yaml:2: servers.maths.listen: expected a port up to 65535"]);
});

it("tells the line of YAML that is none, and not the line itself", async () => {
  const told = await problems("servers:\n  a: { environment: reasoning\n  key: S3CRET\n");
  expect(told.length).toBeGreaterThan(0);
  for (const line of told) expect(line).toMatch(/^c\.yaml:\d+: /);
  expect(told.join()).not.toContain("S3CRET");
  expect(await problems("servers: {}\nservers: {}\n")).toEqual(["c.yaml:2: Map keys must be unique"]);
});

it("refuses what is no configuration", async () => {
  expect(await problems("")).toEqual(["c.yaml: expected a mapping with the key servers"]);
  expect(await problems("servers: [a]")).toEqual([
    "c.yaml:1: servers: expected a mapping of names to servers",
  ]);
  await expect(loadConfig("no-such.yaml")).rejects.toThrow(
    new ConfigError(["no-such.yaml: cannot be read (ENOENT); give the path of a YAML file"]),
  );
});

it("field-case-105: refuses certificates for a server that is called without TLS", async () => {
  const far =
    'servers:\n  far:\n    environment: "http://a.example:1"\n    ca: ca.pem\n    client_cert: { cert: c.pem, key: k.pem }\n';
  expect(await problems(far)).toEqual([
    "c.yaml:4: servers.far.ca: does nothing without TLS; give an https:// address",
    "c.yaml:5: servers.far.client_cert: does nothing without TLS; give an https:// address",
  ]);
  const half = 'servers:\n  far: { environment: "https://a.example:1", client_cert: { cert: c.pem } }\n';
  expect(await problems(half)).toEqual([
    expect.stringMatching(/^c\.yaml:2: servers\.far\.client_cert\.key: expected string/),
  ]);
});
