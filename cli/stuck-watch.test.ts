import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, it } from "vitest";

it("names the place of work that never returns, from outside of it", async () => {
  const child = spawn(process.execPath, ["--import", "tsx", join(import.meta.dirname, "fixtures/stuck.ts")], {
    cwd: join(import.meta.dirname, ".."),
    stdio: ["ignore", "ignore", "pipe"],
  });
  try {
    const [said] = (await once(child.stderr.setEncoding("utf8"), "data")) as [string];
    expect(said).toMatch(
      /^stuck: for 0\.2 s nothing else of this process has run; it is in spin at \.\/cli\/fixtures\/stuck\.ts:10, called by .*stuck\.ts:16/,
    );
  } finally {
    child.kill("SIGKILL");
  }
});
