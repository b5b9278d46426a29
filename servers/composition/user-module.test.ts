import { join } from "node:path";
import { expect, it } from "vitest";
import { ManualClock } from "../../test/manual-clock.js";
import { temporaryFolder } from "../../test/temporary-folder.js";
import type { Clock } from "../runtime/clock.js";
import { ConfigError } from "./config-error.js";
import { type DefinitionShape, loadUserModule, moduleMs } from "./user-module.js";

const shape: DefinitionShape = {
  what: "an environment (defineEnvironment)",
  members: { name: "string", seed: "function" },
};

function load(files: Readonly<Record<string, string>>, clock: Clock = new ManualClock()) {
  const [path = ""] = Object.keys(files);
  const folder = temporaryFolder(files);
  return loadUserModule({ at: "servers.w", path: `./${path}`, folder, options: {}, clock }, shape);
}

/** The one line that tells why a module is refused. */
async function fault(files: Readonly<Record<string, string>>): Promise<string> {
  const error: unknown = await load(files).catch((thrown: unknown) => thrown);
  if (!(error instanceof ConfigError)) throw new Error("expected a ConfigError", { cause: error });
  expect(error.problems).toHaveLength(1);
  const [line = ""] = error.problems;
  expect(line).not.toContain("\n");
  return line;
}

/** A clock on which the time of the nth wait passes at once, and no other. */
function passing(nth: number): Clock {
  const clock = new ManualClock();
  let waits = 0;
  return {
    now: () => clock.now(),
    date: () => clock.date(),
    setTimer(ms, callback) {
      expect(ms).toBe(moduleMs);
      waits += 1;
      if (waits === nth) queueMicrotask(callback);
      return clock.setTimer(ms, callback);
    },
  };
}

it.each([
  ["await new Promise(() => {}); export default {};", 1, "loading ./w.mjs"],
  ["export default () => new Promise(() => {});", 2, "the default export of ./w.mjs"],
])("gives up on what never ends: %s", async (text, wait, what) => {
  await expect(load({ "w.mjs": text }, passing(wait))).rejects.toThrow(
    `servers.w: ${what} never ends: it has not ended within 30 s; check what it awaits`,
  );
});

it("tells file, line and what is wrong of a transformer's error", async () => {
  const { moduleFault } = await import("./module-fault.js");
  const error = Object.assign(
    new Error('Transform failed with 1 error:\n/home/me/w.ts:2:23: ERROR: Unexpected ";"'),
    { name: "TransformError" },
  );
  expect(await moduleFault(error, "/home/me/w.ts", "/home/me")).toBe('./w.ts:2: Unexpected ";"');
});

it.each([
  [
    "a proxy that throws",
    "const no = () => { throw new Error('no\\nstack'); };\nexport default new Proxy({}, { get: no, has: no, ownKeys: no });",
    'found one whose "name" cannot be read: no',
  ],
  [
    "a proxy that is a promise for ever",
    "const has = { name: 'w', seed() {} };\nexport default new Proxy(has, { get: (_, key) => has[key] ?? (() => {}) });",
    "found something to be awaited",
  ],
  [
    "a getter that throws",
    "export default { name: 'w', get seed() { throw new Error('not yet'); } };",
    'found one whose "seed" cannot be read: not yet',
  ],
  [
    "a proxy that has everything",
    "export default new Proxy({}, { has: () => true, get: () => undefined });",
    'found one without the string "name"',
  ],
  ["a number", "export default 7;", "found a value of type number"],
  ["null", "export default null;", "found a value of type null"],
])("refuses a default export that is %s in one line", async (_what, text, found) => {
  expect(await fault({ "w.mjs": text })).toBe(
    `servers.w: expected the default export of ./w.mjs to be an environment (defineEnvironment), ${found}`,
  );
});

it.each([
  ["export default () => { throw null; };", "null"],
  [
    "export default () => { throw new Proxy({}, { get() { throw 1; }, getPrototypeOf() { throw 1; } }); };",
    "something that cannot be shown",
  ],
])("tells whatever a function throws: %s", async (text, told) => {
  expect(await fault({ "w.mjs": text })).toBe(`servers.w: the default export of ./w.mjs threw: ${told}`);
});

it("refuses options for a definition that takes none, and gives them to one that tells of its own", async () => {
  const folder = temporaryFolder({
    "plain.mjs": "export default { name: 'w', seed() {} };",
    "own.mjs": "export default { name: 'w', seed() {}, options: {} };",
  });
  const loading = (path: string, optionsShared = false) =>
    loadUserModule({ at: "servers.w", path, folder, options: { level: 3 }, optionsShared }, shape);
  await expect(loading("./plain.mjs")).rejects.toMatchObject({
    problems: [
      "servers.w.options.level: ./plain.mjs takes no options; export a function that makes the definition of them, or leave them out",
    ],
  });
  expect(await loading("./own.mjs")).toMatchObject({ name: "w" });
  expect(await loading("./plain.mjs", true)).toMatchObject({ name: "w" });
});

it("takes a definition, and what a function makes of the options", async () => {
  const text = "export default { name: 'w', seed() {} };";
  expect(await load({ "w.mjs": text })).toMatchObject({ name: "w" });
  const folder = temporaryFolder({ "made.mjs": "export default async ({ name }) => ({ name, seed() {} });" });
  const made = await loadUserModule(
    { at: "servers.w", path: join(folder, "made.mjs"), folder, options: { name: "x" } },
    shape,
  );
  expect(made).toMatchObject({ name: "x" });
});
