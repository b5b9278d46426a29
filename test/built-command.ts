// Builds what the tests of the command start: once for a run of vitest, where one of those tests is in it, and only
// what is older than its sources.
import { execFile } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { promisify } from "node:util";
import type { TestProject } from "vitest/node";

const root = resolve(import.meta.dirname, "..");
const target = join(root, "dist");
/** The command, as its package has it. */
export const builtCommand: string = join(target, "cli/main.js");
/** Tells of which sources the built command was made. */
const stamp = join(root, ".cache", "dist.built");
const sources = ["gen", "servers", "clients", "rollouts", "cli", "bench"];
const settings = ["tsconfig.json", "tsconfig.build.json", "package.json"];
const verbs = new Set(["run", "watch", "dev", "related", "list"]);

/** What vitest calls before its tests. */
export default async function setup(project: TestProject): Promise<void> {
  const filters = process.argv.slice(2).filter((arg) => !arg.startsWith("-") && !verbs.has(arg));
  const { testFiles } = await project.globTestFiles(filters.length === 0 ? undefined : filters);
  if (!testFiles.some((file) => /^(cli|test\/survival)\//.test(relative(root, file)))) return;
  await build();
  project.onTestsRerun(build);
}

async function build(): Promise<void> {
  const newest = String(newestSource());
  const built = existsSync(stamp) ? readFileSync(stamp, "utf8") : "";
  if (built === newest && existsSync(builtCommand)) return;
  const staging = join(root, ".cache", `dist-${process.pid}`);
  try {
    const compile = ["tsc", "-p", "tsconfig.build.json", "--outDir", staging];
    await promisify(execFile)("npx", compile, { cwd: root }).catch((error: unknown) => {
      // It writes what it can; that types are right is the business of npm run check.
      console.warn(`The command is built although its types are wrong:\n${outputOf(error)}`);
    });
    moveChanged(staging);
    // As npm run build does: npx starts it by its mode.
    chmodSync(builtCommand, 0o755);
    writeFileSync(stamp, newest);
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/** When the newest of all sources was written, in milliseconds since 1970. */
function newestSource(): number {
  const files = [
    ...sources.flatMap((folder) => filesIn(join(root, folder))),
    ...settings.map((file) => join(root, file)),
  ];
  return Math.max(...files.map((file) => statSync(file).mtimeMs));
}

/** Puts what differs in its place, each file at once: other processes may be reading there. */
function moveChanged(staging: string): void {
  for (const file of filesIn(staging)) {
    const place = join(target, relative(staging, file));
    if (existsSync(place) && readFileSync(place).equals(readFileSync(file))) continue;
    mkdirSync(dirname(place), { recursive: true });
    renameSync(file, place);
  }
}

function outputOf(error: unknown): string {
  return typeof error === "object" && error !== null && "stdout" in error
    ? String(error.stdout)
    : String(error);
}
