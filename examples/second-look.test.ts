import { execFile } from "node:child_process";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { rolloutsOf } from "../cli/fixtures/touchstone.js";
import { temporaryFolder } from "../test/temporary-folder.js";

const root = resolve(import.meta.dirname, "..");

it("a driver of one's own: the second answer counts (EPI-DRV-012)", async () => {
  const out = join(temporaryFolder(), "out");
  // From its sources: the module that it loads and it share one package.
  const command = ["--import", "tsx", "cli/main.ts", "run", "examples/second-look.yaml", "--out", out];
  await promisify(execFile)(process.execPath, command, { cwd: root });
  const rewards = rolloutsOf(out).map(({ task, reward }) => [task.id, reward]);
  expect(rewards.toSorted()).toEqual([
    ["0", 1],
    ["1", 1],
    ["2", 0],
  ]);
});
