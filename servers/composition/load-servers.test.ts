import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "../../test/temporary-folder.js";
import { ConfigError } from "./config-error.js";
import { loadConfig } from "./load-config.js";
import { loadServers } from "./load-servers.js";

/** What is wrong with a configuration beside modules of the given texts. */
async function problems(servers: string, modules: Readonly<Record<string, string>> = {}) {
  const error: unknown = await load(servers, modules).catch((thrown: unknown) => thrown);
  if (!(error instanceof ConfigError)) throw new Error("expected a ConfigError", { cause: error });
  return error.problems.map((problem) => problem.replace(/\/\S*\/(?=c\.yaml)/g, ""));
}

async function load(
  servers: string,
  modules: Readonly<Record<string, string>> = {},
  only?: readonly string[],
) {
  const folder = temporaryFolder({ ...modules, "c.yaml": `servers:\n${servers}` });
  return await loadServers(await loadConfig(join(folder, "c.yaml")), only);
}

const world =
  "name: 'w', version: '1', read: () => 0, seed: () => ({ state: 0 }), verify: () => ({ reward: 1 })";

it("finds names of ours, modules and servers elsewhere", async () => {
  const loaded = await load(
    `
  maths: { environment: reasoning }
  world: { environment: ./world.mjs }
  made: { environment: ./made.mjs, options: { version: "7" } }
  far: { environment: "http://127.0.0.1:9" }
  episodes: { episode: [single_agent_turn] }
`,
    {
      "world.mjs": `export default { ${world} };`,
      "made.mjs": `export default async (options) => ({ ${world}, version: options.version });`,
    },
  );
  expect(loaded.get("maths")?.implementation).toMatchObject({ definition: { name: "reasoning" } });
  expect(loaded.get("world")?.implementation).toMatchObject({ definition: { name: "w", version: "1" } });
  expect(loaded.get("made")?.implementation).toMatchObject({ definition: { name: "w", version: "7" } });
  expect(loaded.get("far")?.implementation).toEqual({ kind: "elsewhere", url: "http://127.0.0.1:9" });
  expect(loaded.get("episodes")?.implementation).toMatchObject({ drivers: [{ name: "single_agent_turn" }] });
});

it("tells everything that is wrong, and the nearest name", async () => {
  expect(
    await problems(`
  a: { environment: resoning }
  b: { agent: tool-lop }
  c: { episode: single_agent_turns }
  d: { agent: tool-loop, options: { max_turn: 3 } }
  e: { environment: reasoning, options: { calculator: "yes" } }
  f: { model: replay, options: { file: nowhere.jsonl } }
  g: { sandbox: bubblewrap }
  h: { environment: reasoning, sandbox: g }
  i: { episode: [single_agent_turn, "http://127.0.0.1:9"] }
`),
  ).toEqual([
    'c.yaml: servers.a: "resoning" is none of ours, no path of a module (./resoning.ts) and no URL; did you mean "reasoning"?',
    'c.yaml: servers.b: "tool-lop" is none of ours, no path of a module (./tool-lop.ts) and no URL; did you mean "tool-loop"?',
    'c.yaml: servers.c: "single_agent_turns" is none of ours, no path of a module (./single_agent_turns.ts) and no URL; did you mean "single_agent_turn"?',
    'c.yaml: servers.d.options.max_turn: unknown key; did you mean "max_turns"?',
    "c.yaml: servers.e.options.calculator: expected boolean, found string",
    expect.stringMatching(/^c\.yaml: servers\.f: .*nowhere\.jsonl/),
    "c.yaml: servers.g: there is no sandbox of ours; give the URL of a sandbox server",
    "c.yaml: servers.h.sandbox: this environment makes no boxes; leave it out",
    "c.yaml: servers.i: expected drivers in a list, found a URL; a server at a URL stands alone",
  ]);
});

it("tells what is wrong with a module", async () => {
  expect(
    await problems(
      `
  a: { environment: ./missing.mjs }
  b: { environment: ./empty.mjs }
  c: { environment: ./other.mjs }
  d: { environment: ./throws.mjs }
  e: { environment: ./breaks.mjs }
`,
      {
        "empty.mjs": "export const x = 1;",
        "other.mjs": "export default { name: 'an agent' };",
        "throws.mjs": "export default () => { throw new Error('needs options.url\\nstack'); };",
        "breaks.mjs": "throw new Error('at load');",
      },
    ),
  ).toEqual([
    expect.stringMatching(/^c\.yaml: servers\.a: \.\/missing\.mjs cannot be loaded: .*missing\.mjs/),
    "c.yaml: servers.b: ./empty.mjs has no default export; export a definition",
    'c.yaml: servers.c: expected the default export of ./other.mjs to be an environment (defineEnvironment), found one without the string "version"',
    "c.yaml: servers.d: the default export of ./throws.mjs threw: needs options.url",
    "c.yaml: servers.e: ./breaks.mjs cannot be loaded: at load",
  ]);
});

it("loads only what is asked for, and refuses a name that there is not", async () => {
  const servers = "  maths: { environment: reasoning }\n  broken: { environment: ./missing.mjs }\n";
  expect([...(await load(servers, {}, ["maths"])).keys()]).toEqual(["maths"]);
  await expect(load(servers, {}, ["math"])).rejects.toThrow('no server "math"; did you mean "maths"?');
});
