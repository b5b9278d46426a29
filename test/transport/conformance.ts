// Runs the official Connect/gRPC conformance suite against the port: every case, no list of known failures.
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { findRunner, onPath, runnerName, runnerVersion } from "./find-runner.js";

const cases = 3_820;

const here = import.meta.dirname;
const root = join(here, "..", "..");
const cacheBin = join(root, ".cache", "bin");
const path = process.env["PATH"] ?? "";

/** Builds the runner; false without Go. */
function build(): boolean {
  const go = onPath("go", path);
  if (go === undefined) return false;
  console.log(`building ${runnerName} ${runnerVersion}`);
  mkdirSync(cacheBin, { recursive: true });
  execFileSync(go, ["install", `connectrpc.com/conformance/cmd/${runnerName}@${runnerVersion}`], {
    env: { ...process.env, GOBIN: cacheBin },
    stdio: "inherit",
  });
  return true;
}

/** Runs the suite; resolves with its exit code and what it printed. */
function run(runner: string): Promise<{ code: number | null; output: string }> {
  const options = [
    ...["--conf", join(here, "conformance.yaml")],
    ...["--mode", "server"],
    ...["--max-servers", "1"],
    ...["-p", "8"],
  ];
  const server = [process.execPath, "--import", "tsx", join(here, "conformance-server.ts")];
  const child = spawn(runner, [...options, "--", ...server], {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
    process.stdout.write(text);
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, output }));
  });
}

const named = process.env["TOUCHSTONE_CONNECTCONFORMANCE"];
const runner = findRunner({ named, built: cacheBin, path, build });
if (runner === undefined) {
  const inCi = process.env["CI"] === "true";
  console.log(
    `${inCi ? "FAILED" : "SKIPPED"}: transport conformance needs ${runnerName} ${runnerVersion}, or Go to build it`,
  );
  process.exitCode = inCi ? 1 : 0;
} else if (process.argv.includes("--install")) {
  console.log(`${runnerName} ${runnerVersion} is at ${runner}`);
} else {
  const { code, output } = await run(runner);
  const passed = Number(/^(\d+) passed, 0 failed/m.exec(output)?.[1] ?? 0);
  const complete = code === 0 && passed === cases;
  console.log(
    complete
      ? `transport conformance: all ${cases} cases passed`
      : `FAILED: expected ${cases} cases to pass, found ${passed} (exit code ${code})`,
  );
  process.exitCode = complete ? 0 : 1;
}
