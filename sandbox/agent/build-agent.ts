import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";

/** Compilers that can make the agent, the best first: musl makes it small and free of any library. */
const compilers: readonly { readonly command: string; readonly flags: readonly string[] }[] = [
  { command: "musl-gcc", flags: ["-static", "-Os", "-s"] },
  { command: "gcc", flags: ["-static", "-Os", "-s"] },
  { command: "cc", flags: ["-static", "-Os", "-s"] },
];

const language = ["-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wshadow", "-Werror"];

const sources = join(import.meta.dirname, "src");

/**
 * Builds the box agent where a C compiler is, and answers its path; undefined: there is none. What was built from the same
 * sources is not built again. Throws an Error with the compiler's words where it does not compile.
 */
export function buildAgent(folder: string): string | undefined {
  const compiler = compilers.find(({ command }) => spawnSync(command, ["--version"]).status === 0);
  if (compiler === undefined) return undefined;
  const files = readdirSync(sources).map((name) => join(sources, name));
  const agent = join(folder, "box-agent");
  const newest = Math.max(...files.map((file) => statSync(file).mtimeMs));
  const built = statSync(agent, { throwIfNoEntry: false });
  if (built !== undefined && built.mtimeMs > newest) return agent;
  mkdirSync(folder, { recursive: true });
  // Whole or not at all: another process may be starting it.
  const fresh = `${agent}.${process.pid}`;
  const units = files.filter((file) => file.endsWith(".c"));
  execFileSync(compiler.command, [...language, ...compiler.flags, "-o", fresh, ...units], { stdio: "pipe" });
  renameSync(fresh, agent);
  return agent;
}
