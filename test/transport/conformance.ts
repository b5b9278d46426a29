// Runs the official Connect/gRPC conformance suite against the port: every case, no list of known failures.
import { execFileSync, spawn } from "node:child_process";
import { accessSync, constants, mkdirSync } from "node:fs";
import { delimiter, join } from "node:path";

const VERSION = "v1.0.7";
const CASES = 3_820;
const PROGRAM = "connectconformance";

const here = import.meta.dirname;
const root = join(here, "..", "..");
const cacheBin = join(root, ".cache", "bin");

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function onPath(program: string): string | undefined {
  const directories = (process.env["PATH"] ?? "").split(delimiter);
  return directories.map((directory) => join(directory, program)).find(isExecutable);
}

/** The runner: named by the environment, on the path, built earlier, or built now; undefined without Go. */
function findRunner(): string | undefined {
  const named = process.env["TOUCHSTONE_CONNECTCONFORMANCE"];
  if (named !== undefined && named !== "") {
    if (isExecutable(named)) return named;
    throw new Error(`expected an executable in TOUCHSTONE_CONNECTCONFORMANCE, found none at ${named}`);
  }
  const cached = join(cacheBin, PROGRAM);
  const found = onPath(PROGRAM) ?? (isExecutable(cached) ? cached : undefined);
  if (found !== undefined) return found;
  const go = onPath("go");
  if (go === undefined) return undefined;
  console.log(`building ${PROGRAM} ${VERSION}`);
  mkdirSync(cacheBin, { recursive: true });
  execFileSync(go, ["install", `connectrpc.com/conformance/cmd/${PROGRAM}@${VERSION}`], {
    env: { ...process.env, GOBIN: cacheBin },
    stdio: "inherit",
  });
  return cached;
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

const runner = findRunner();
if (runner === undefined) {
  const inCi = process.env["CI"] === "true";
  console.log(
    `${inCi ? "FAILED" : "SKIPPED"}: transport conformance needs ${PROGRAM} ${VERSION}, or Go to build it`,
  );
  process.exitCode = inCi ? 1 : 0;
} else {
  const { code, output } = await run(runner);
  const passed = Number(/^(\d+) passed, 0 failed/m.exec(output)?.[1] ?? 0);
  const complete = code === 0 && passed === CASES;
  console.log(
    complete
      ? `transport conformance: all ${CASES} cases passed`
      : `FAILED: expected ${CASES} cases to pass, found ${passed} (exit code ${code})`,
  );
  process.exitCode = complete ? 0 : 1;
}
