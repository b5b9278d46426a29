// Where the tools of other languages are: what polyglot/install.sh put below .cache/, else what the machine has.
import { spawnSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, dirname, join } from "node:path";

/** Root of the repository. */
export const repository = join(import.meta.dirname, "..", "..");

const cache = join(repository, ".cache");

/** Folders that are searched for programs, ours first. */
function searchPath(): string[] {
  const own = [join(cache, "bin"), join(repository, "node_modules", ".bin")];
  return [...own, ...(process.env["PATH"] ?? "").split(delimiter)].filter((folder) => folder !== "");
}

/** Path of a program, or undefined where there is none of that name. */
export function findProgram(name: string): string | undefined {
  return searchPath()
    .map((folder) => join(folder, name))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

/** Paths of several programs by name, or undefined where one is missing. */
export function findPrograms<Name extends string>(...names: Name[]): Record<Name, string> | undefined {
  const found = new Map(names.map((name) => [name, findProgram(name)]));
  if ([...found.values()].includes(undefined)) {
    return undefined;
  }
  return Object.fromEntries(found) as Record<Name, string>;
}

/** A Python that has grpcio, its tools and its rich statuses: `TOUCHSTONE_PYTHON`, else `.cache/venv`. */
export function findPython(): string | undefined {
  const python = process.env["TOUCHSTONE_PYTHON"] ?? join(cache, "venv", "bin", "python");
  const probe = spawnSync(python, ["-c", "import google.protobuf, grpc, grpc_status, grpc_tools"]);
  return probe.status === 0 ? python : undefined;
}

/** Environment in which templates and builds run: our programs, and this Python as `python3`. */
export function toolEnvironment(python?: string): NodeJS.ProcessEnv {
  const folders = python === undefined ? searchPath() : [dirname(python), ...searchPath()];
  return { ...process.env, PATH: folders.join(delimiter) };
}

/** Runs a program to its end and answers what it printed. Throws where it fails, with what it said of it. */
export function run(program: string, args: readonly string[], options: RunOptions = {}): string {
  const { status, error, stdout, stderr } = spawnSync(program, args, {
    cwd: options.cwd ?? repository,
    env: { ...toolEnvironment(options.python), ...options.env },
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status !== 0) {
    const said = error?.message ?? `${stderr}${stdout}`;
    throw new Error(`${program} ${args.join(" ")}: expected exit code 0, found ${status}\n${said}`);
  }
  return stdout;
}

/** How a program is run. */
export interface RunOptions {
  /** Folder to run in. Absent: the repository's root. */
  readonly cwd?: string;
  /** Python that is `python3` for it. Absent: the machine's. */
  readonly python?: string | undefined;
  /** Further variables. */
  readonly env?: NodeJS.ProcessEnv;
}
