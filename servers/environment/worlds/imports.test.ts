import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { expect, it } from "vitest";

const root = resolve(import.meta.dirname, "../../..");
const here = import.meta.dirname;

/** The package's own `exports`, by the source that each is built from. */
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
  readonly dependencies: Readonly<Record<string, string>>;
};
const exported = new Set(
  Object.values(manifest.exports).flatMap((entry) =>
    typeof entry === "string" ? [] : [entry.default.replace("./dist/", "")],
  ),
);

/** The table of our worlds, and a world that is made of other servers: it calls them as the runtime itself does. */
const noPatterns = ["index.ts", "facade/"];

/** What a module imports. */
function importsOf(path: string): string[] {
  const text = readFileSync(path, "utf8");
  return [...text.matchAll(/^(?:import|export)\b[^;]*?from\s+"([^"]+)";|\bimport\("([^"]+)"\)/gm)].map(
    ([, from, loaded]) => from ?? loaded ?? "",
  );
}

/** What an author who copies a world could not import. */
function internal(path: string): string[] {
  return importsOf(path).filter((specifier) => {
    if (specifier.startsWith("node:")) return false;
    if (!specifier.startsWith(".")) {
      return !Object.keys(manifest.dependencies).some((name) => `${specifier}/`.startsWith(`${name}/`));
    }
    const target = resolve(dirname(path), specifier);
    return relative(here, target).startsWith("..") && !exported.has(relative(root, target));
  });
}

const worlds = readdirSync(here, { recursive: true, encoding: "utf8" }).filter(
  (name) =>
    /(?<!\.test)\.ts$/.test(name) &&
    !name.startsWith("fixtures/") &&
    !noPatterns.some((begin) => name.startsWith(begin)),
);

it("finds what no author could import, and what every author can", () => {
  expect([...exported]).toEqual(
    expect.arrayContaining(["clients/index.js", "gen/index.js", "servers/index.js"]),
  );
  expect(internal(join(here, "facade/part.ts"))).toContain("../../../runtime/failure.js");
  expect(worlds).toContain("workbench/tools.ts");
  expect(importsOf(join(here, "workbench/tools.ts"))).toContain("../../../index.js");
});

it.each(worlds)("%s can be copied: it imports only what the package exports", (name) => {
  expect(internal(join(here, name))).toEqual([]);
});
