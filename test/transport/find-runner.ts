import { execFileSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** The official runner. */
export const runnerName = "connectconformance";
/** The one version of it whose cases are counted on. */
export const runnerVersion = "v1.0.7";

/** Where a runner may be. */
export interface RunnerPlaces {
  /** The program that TOUCHSTONE_CONNECTCONFORMANCE names; undefined or empty: none. */
  readonly named: string | undefined;
  /** Folder in which it is built. */
  readonly built: string;
  /** PATH. */
  readonly path: string;
  /** Builds it into that folder; answers false where it cannot. */
  build(): boolean;
}

/**
 * The runner of the pinned version: named, built earlier, on the path, or built now; undefined where it cannot be built.
 * Another version is never taken, since it has other cases. Throws where the named one is none.
 */
export function findRunner({ named, built, path, build }: RunnerPlaces): string | undefined {
  if (named !== undefined && named !== "") {
    const found = versionOf(named);
    if (found === runnerVersion) return named;
    throw new Error(
      `expected ${runnerName} ${runnerVersion} in TOUCHSTONE_CONNECTCONFORMANCE, found ${found ?? "no such program"} at ${named}`,
    );
  }
  const ours = join(built, runnerName);
  const candidates = [ours, ...path.split(delimiter).map((folder) => join(folder, runnerName))];
  const found = candidates.find((candidate) => versionOf(candidate) === runnerVersion);
  return found ?? (build() ? ours : undefined);
}

/** The version that a runner says it is; undefined: it is no program that says one. */
function versionOf(program: string): string | undefined {
  try {
    accessSync(program, constants.X_OK);
    const said = execFileSync(program, ["--version"], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    const [, version = ""] = /(v?\d+\.\d+\.\d+\S*)/.exec(said) ?? [];
    return version === "" || version.startsWith("v") ? version : `v${version}`;
  } catch {
    return undefined;
  }
}

/** A program on the path. */
export function onPath(program: string, path: string): string | undefined {
  return path
    .split(delimiter)
    .map((folder) => join(folder, program))
    .find((candidate) => {
      try {
        accessSync(candidate, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}
