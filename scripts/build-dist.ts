// Builds dist/: beside it first, then each file that differs is put in its place at once, since a command that runs from
// dist/ loads parts of itself late.
import { execFile } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { promisify } from "node:util";

const root = resolve(import.meta.dirname, "..");
const target = join(root, "dist");

/** The command, as its package has it. */
export const builtCommand: string = join(target, "cli/main.js");

/**
 * Compiles the package into dist/. Where types are wrong dist/ stays as it was and an Error with the compiler's words is
 * thrown; with `onWrongTypes` they are told to it, and what the compiler could write is taken.
 */
export async function buildDist(onWrongTypes?: (words: string) => void): Promise<void> {
  const staging = join(root, ".cache", `dist-${process.pid}`);
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  const compile = [tsc, "-p", "tsconfig.build.json", "--outDir", staging];
  try {
    await promisify(execFile)(process.execPath, compile, { cwd: root }).catch((error: unknown) => {
      if (onWrongTypes === undefined) throw new Error(outputOf(error));
      onWrongTypes(outputOf(error));
    });
    // npx starts it by its mode.
    chmodSync(join(staging, relative(target, builtCommand)), 0o755);
    replaceBy(staging);
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));
}

/** Puts what differs in its place, each file at once, then takes away what is not built any more. */
function replaceBy(staging: string): void {
  const built = new Set(filesIn(staging));
  for (const file of built) {
    const place = join(target, file);
    if (existsSync(place) && readFileSync(place).equals(readFileSync(join(staging, file)))) continue;
    mkdirSync(dirname(place), { recursive: true });
    renameSync(join(staging, file), place);
  }
  for (const file of filesIn(target)) if (!built.has(file)) rmSync(join(target, file));
  chmodSync(builtCommand, 0o755);
}

function outputOf(error: unknown): string {
  return typeof error === "object" && error !== null && "stdout" in error
    ? String(error.stdout)
    : String(error);
}
