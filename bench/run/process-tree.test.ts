import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { busyMicroseconds, cpuMicroseconds, residentKilobytes } from "./process-tree.js";

describe("a process tree", () => {
  it("counts what a process, its threads and its children use", async () => {
    const busy = "const end = Date.now() + 200; while (Date.now() < end);";
    const child = spawn("sh", [
      "-c",
      // The grandchild ends with its input, as no signal reaches it.
      `"${process.execPath}" -e "${busy} console.log(1); process.stdin.resume()"; true`,
    ]);
    try {
      const before = busyMicroseconds();
      await once(child.stdout, "data");
      const pid = child.pid ?? 0;
      const used = cpuMicroseconds(pid) ?? 0;
      expect(used).toBeGreaterThan(10_000);
      expect(cpuMicroseconds(pid)).toBeGreaterThanOrEqual(used);
      expect(busyMicroseconds()).toBeGreaterThan(before);
      expect(residentKilobytes(pid)).toBeGreaterThan(10_000);
    } finally {
      child.stdin.end();
      child.kill("SIGKILL");
    }
  });

  it("knows nothing of a process that is gone", () => {
    expect(cpuMicroseconds(2 ** 22 + 1)).toBeUndefined();
    expect(residentKilobytes(2 ** 22 + 1)).toBe(0);
  });
});
