import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "../test/temporary-folder.js";
import { touchstone } from "./fixtures/touchstone.js";

/** What `serve` says of servers that are these modules; it must end with 2, and say nothing else. */
async function faults(
  files: Readonly<Record<string, string>>,
  modules: readonly string[],
): Promise<string[]> {
  const servers = modules.map((module, i) => `  s${i}: { environment: ./${module} }`);
  const folder = temporaryFolder({ ...files, "c.yaml": ["servers:", ...servers].join("\n") });
  const { code, stdout, stderr } = await touchstone(["serve", join(folder, "c.yaml")]);
  expect([code, stdout]).toEqual([2, ""]);
  return stderr.replaceAll(`${folder}/`, "").split("\n").filter(Boolean);
}

it("tells a module that never ends its top-level await, instead of ending without a word", async () => {
  const text = "await new Promise(() => {});\nexport default {};";
  expect(await faults({ "waits.mjs": text }, ["waits.mjs"])).toEqual([
    "c.yaml: servers.s0: loading ./waits.mjs never ends: it waits, and nothing is left that could end the wait; check what it awaits",
  ]);
});

it("ends although a refused module keeps something running", async () => {
  const text = "setInterval(() => {}, 1000);\nexport default 7;";
  expect(await faults({ "runs.mjs": text }, ["runs.mjs"])).toEqual([
    "c.yaml: servers.s0: expected the default export of ./runs.mjs to be an environment (defineEnvironment), found a value of type number",
  ]);
});

it("tells where the text of a module is wrong, in one line each", async () => {
  const files = {
    "syntax.mjs": "const a = 1;\nexport default { name: ; };",
    "imports.mjs": 'import "./part.mjs";\nexport default {};',
    "part.mjs": "\n\nconst const = 1;",
    "names.mjs": 'import { nope } from "./good.mjs";\nexport default nope;',
    "good.mjs": "export const good = 1;",
    "typed.mts": "const a: number = 1;\nexport default { name: ; };",
    "older.ts": "const a: number = 1;\nexport default { a };",
    "json.mjs": "export const x = 1;\nJSON.parse('{');",
  };
  expect(
    await faults(files, ["syntax.mjs", "imports.mjs", "names.mjs", "typed.mts", "json.mjs", "older.ts"]),
  ).toEqual([
    "c.yaml: servers.s0: ./syntax.mjs cannot be loaded: ./syntax.mjs:2: Unexpected token ';'",
    "c.yaml: servers.s1: ./imports.mjs cannot be loaded: ./part.mjs:3: Unexpected token 'const'",
    "c.yaml: servers.s2: ./names.mjs cannot be loaded: ./names.mjs:1: The requested module './good.mjs' does not provide an export named 'nope'",
    'c.yaml: servers.s3: ./typed.mts cannot be loaded: ./typed.mts:2: Unexpected ";"',
    expect.stringMatching(/^c\.yaml: servers\.s4: \.\/json\.mjs cannot be loaded: Expected property name/),
    'c.yaml: servers.s5: ./older.ts cannot be loaded: its folder\'s package.json does not say that it is an ECMAScript module; add "type": "module" there, or name it .mts',
  ]);
});

it("refuses whatever else a module exports, in one line", async () => {
  const hostile =
    "const p = new Proxy({}, { get() { throw p; }, getPrototypeOf() { throw p; } });\nexport default p;";
  expect(await faults({ "hostile.mjs": hostile }, ["hostile.mjs"])).toEqual([
    'c.yaml: servers.s0: expected the default export of ./hostile.mjs to be an environment (defineEnvironment), found one whose "name" cannot be read: something that cannot be shown',
  ]);
});
