import { execFileSync } from "node:child_process";
import { cpus } from "node:os";

/** The cores that servers and loads are pinned to; absent where that cannot be done. */
export interface Cores {
  readonly server: number | undefined;
  readonly load: number | undefined;
  /** Why nothing is pinned. */
  readonly unpinned?: string;
}

/** Two cores of this machine, if there are two and taskset to pin to them. */
export function findCores(): Cores {
  const none = (unpinned: string): Cores => ({ server: undefined, load: undefined, unpinned });
  if (cpus().length < 2) return none("the machine has one core");
  try {
    execFileSync("taskset", ["-c", "0,1", process.execPath, "--version"], { stdio: "ignore" });
  } catch {
    return none("taskset cannot pin to cores 0 and 1 here");
  }
  return { server: 0, load: 1 };
}
