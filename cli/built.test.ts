import { execFileSync, spawn } from "node:child_process";
import { accessSync, constants, existsSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { builtCommand } from "../test/built-command.js";
import { root } from "./fixtures/touchstone.js";

it("is built as a program, so that npx can start it after every build", () => {
  accessSync(builtCommand, constants.X_OK);
  expect(execFileSync(builtCommand, ["--version"], { encoding: "utf8" })).toMatch(/^\d+\.\d+\.\d+/);
});

it("stays whole while it is built anew", async () => {
  const build = spawn("npm", ["run", "-s", "build"], { cwd: root, stdio: "ignore" });
  let ended: number | null = null;
  build.once("exit", (code) => {
    ended = code ?? 1;
  });
  let lost = 0;
  while (ended === null) {
    if (!existsSync(builtCommand)) lost += 1;
    await setImmediate();
  }
  expect([lost, existsSync(builtCommand)]).toEqual([0, true]);
  accessSync(builtCommand, constants.X_OK);
}, 60_000);
