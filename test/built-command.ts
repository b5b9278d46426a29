// Builds what the tests of the command start: once for a run of vitest, where one of those tests is in it, and only
// what is older than its sources.
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import type { TestProject } from "vitest/node";
import { buildDist, builtCommand } from "../scripts/build-dist.js";

export { builtCommand };

const root = resolve(import.meta.dirname, "..");
/** Tells of which sources the built command was made. */
const stamp = join(root, ".cache", "dist.built");
const sources = ["gen", "servers", "clients", "rollouts", "cli", "conformance", "bench"];
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
  // It writes what it can; that types are right is the business of npm run check.
  await buildDist((words) => console.warn(`The command is built although its types are wrong:\n${words}`));
  writeFileSync(stamp, newest);
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
