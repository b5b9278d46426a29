import { chmodSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "../temporary-folder.js";
import { findRunner, runnerName, runnerVersion } from "./find-runner.js";

/** A folder with a program that says to be a runner of this version. */
function runnerOf(version: string): string {
  const folder = temporaryFolder({ [runnerName]: `#!/bin/sh\necho "${runnerName} ${version}"\n` });
  chmodSync(join(folder, runnerName), 0o755);
  return folder;
}

const nowhere = { named: undefined, built: "/nowhere", path: "/nowhere", build: () => false };

it("takes no other version than the pinned one, wherever it is", () => {
  const other = runnerOf("v1.0.6");
  expect(findRunner({ ...nowhere, path: other })).toBeUndefined();
  expect(findRunner({ ...nowhere, built: other })).toBeUndefined();
  expect(findRunner({ ...nowhere, path: other, built: "/b", build: () => true })).toBe(`/b/${runnerName}`);
  expect(() => findRunner({ ...nowhere, named: join(other, runnerName) })).toThrow(
    /expected .* found v1\.0\.6 at/,
  );
  expect(() => findRunner({ ...nowhere, named: "/nowhere/x" })).toThrow(
    /found no such program at \/nowhere\/x/,
  );
});

it("takes the pinned version before building it again", () => {
  const [first, second] = [runnerOf(runnerVersion), runnerOf(runnerVersion.replace("v", ""))];
  const build = () => expect.fail("nothing needs to be built");
  expect(findRunner({ ...nowhere, path: `${runnerOf("v1.0.6")}:${first}`, build })).toBe(
    join(first, runnerName),
  );
  expect(findRunner({ ...nowhere, path: first, built: second, build })).toBe(join(second, runnerName));
  expect(findRunner({ ...nowhere, named: join(first, runnerName), build })).toBe(join(first, runnerName));
});
