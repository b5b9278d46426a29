import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "../test/temporary-folder.js";
import { checkFolder, checkResumable, makeFolder } from "./run-folder.js";

it("makes a run's folder with all that is missing above it, and may find it there", () => {
  const folder = join(temporaryFolder(), "a", "b");
  makeFolder(folder);
  makeFolder(folder);
  expect(existsSync(folder)).toBe(true);
});

it.skipIf(!existsSync("/proc/self"))("refuses a folder where none can be made, at once", () => {
  expect(() => makeFolder("/proc/touchstone/out")).toThrow(/cannot be made/);
});

it("goes on only where something is", () => {
  const folder = temporaryFolder({});
  expect(() => checkResumable(folder)).not.toThrow();
  expect(() => checkResumable(join(folder, "out"))).toThrow(
    /expected the folder of a run that --resume goes on with/,
  );
});

it("refuses a folder below a file, or a file, by name", () => {
  const file = join(temporaryFolder({ file: "" }), "file");
  expect(() => checkFolder(file)).toThrow(/expected a folder, found a file/);
  expect(() => checkFolder(join(file, "out"))).toThrow(/cannot be a folder/);
});
