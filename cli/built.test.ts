import { execFileSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { expect, it } from "vitest";
import { builtCommand } from "../test/built-command.js";

it("is built as a program, so that npx can start it after every build", () => {
  accessSync(builtCommand, constants.X_OK);
  expect(execFileSync(builtCommand, ["--version"], { encoding: "utf8" })).toMatch(/^\d+\.\d+\.\d+/);
});
