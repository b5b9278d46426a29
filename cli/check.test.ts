import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "../test/temporary-folder.js";
import { touchstone, worldConfig } from "./fixtures/touchstone.js";

const servers = `
servers:
  maths: { environment: reasoning }
  oracle: { agent: oracle }
  solver: { agent: tool-loop }
`;
const driver = "  episodes: { episode: single_agent_turn }\n";

async function check(config: string, ...flags: string[]) {
  return await touchstone(["check", join(temporaryFolder({ "c.yaml": config }), "c.yaml"), ...flags]);
}

it("tells in a table that all pairs work", async () => {
  expect(await check(`${servers}  script: { model: echo }\n${driver}`)).toEqual({
    code: 0,
    stderr: "",
    stdout: `environment  agent   model   episode server  driver             works
maths        oracle  -       episodes        single_agent_turn  yes
maths        solver  script  episodes        single_agent_turn  yes
2 of 2 work
`,
  });
});

it("tells what is unmet of pairs that cannot work, and ends with 1", async () => {
  expect(await check(`${servers}${driver}`)).toEqual({
    code: 1,
    stderr: "",
    stdout: `environment  agent   model  episode server  driver             works
maths        oracle  -      episodes        single_agent_turn  yes
maths        solver  -      episodes        single_agent_turn  no
  models.agent: agent "solver" needs a model, none is bound
1 of 2 work
`,
  });
});

it("tells the same as JSON, servers that cannot be asked and what run asks for included", async () => {
  const run = `
run:
  driver: episodes
  environment: gone
  agents: { agent: solver }
  models: { agent: words }
  capture: tokens
  tasks: { file: t.jsonl }
`;
  const words = `  words: { model: openai, options: { base_url: "http://127.0.0.1:1/v1", api_key: k, model: m, context_tokens: 1000 } }\n`;
  const config = `${servers}  gone: { environment: "http://127.0.0.1:1" }\n${words}${driver}${run}`;
  const { code, stdout } = await check(config, "--json");
  expect(code).toBe(1);
  const { pairs } = JSON.parse(stdout) as { pairs: { unmet: object[] }[] };
  expect(pairs).toMatchObject([
    { run: "run", environment: "gone", agents: { agent: "solver" }, works: false },
    { environment: "maths", agents: { agent: "oracle" }, models: {}, works: true, unmet: [] },
    {
      environment: "maths",
      agents: { agent: "solver" },
      models: { agent: "words" },
      episode: "episodes",
      driver: "single_agent_turn",
      works: false,
      unmet: [
        {
          field: "models.agent",
          text: 'model "words" tells no tokens, and the run asks to capture them',
        },
      ],
    },
    { environment: "gone", agents: { agent: "oracle" }, works: false },
  ]);
  for (const { unmet } of [pairs[0], pairs[3]].flatMap((pair) => pair ?? [])) {
    expect(unmet).toEqual([
      {
        field: "servers.gone",
        text: expect.stringMatching(/^http:\/\/127\.0\.0\.1:1: cannot be asked what it is: .*ECONNREFUSED/),
      },
    ]);
  }
  const only = await check(config, "--json", "--run");
  expect([only.code, JSON.parse(only.stdout)]).toMatchObject([
    1,
    { pairs: [{ run: "run", environment: "gone", agents: { agent: "solver" }, works: false }] },
  ]);
});

it("looks at a module of the user, at several runs, and refuses a bad configuration with 2", async () => {
  const good = await check(worldConfig());
  expect([good.code, good.stdout]).toEqual([0, expect.stringContaining("1 of 1 work")]);
  const bad = await check("servers:\n  maths: { environment: resoning }\n");
  expect([bad.code, bad.stdout, bad.stderr]).toEqual([
    2,
    "",
    expect.stringMatching(/did you mean "reasoning"\?\n$/),
  ]);
  const several = `
runs:
  one: { driver: episodes, environment: maths, agents: { agent: oracle }, tasks: { file: t.jsonl } }
  two: { driver: episodes, environment: maths, agents: { agent: solver }, tasks: { file: t.jsonl } }
`;
  const each = await check(`${servers}${driver}${several}`, "--run");
  expect([each.code, each.stdout]).toEqual([
    1,
    expect.stringMatching(
      /^run +environment.*\none +maths .* yes\ntwo +maths .* no\n {2}runs\.two\.models\.agent: /,
    ),
  ]);
  // All runs of the file, then what none of them names.
  const all = await check(`${servers}  words: { model: echo }\n${driver}${several}`);
  expect([all.code, all.stdout]).toEqual([
    1,
    expect.stringMatching(
      /\none +maths .* yes\ntwo +maths .* no\n.*\n- +maths +solver +words .* yes\n2 of 3 work\n$/,
    ),
  ]);
  const none = await check(`${servers}${driver}`, "--run");
  expect([none.code, none.stderr]).toEqual([
    2,
    expect.stringContaining("run: is missing; say there what to run"),
  ]);
  const alone = await check("servers:\n  maths: { environment: reasoning }\n");
  expect([alone.code, alone.stderr]).toEqual([2, expect.stringMatching(/found no agent, no episode\n$/)]);
});
