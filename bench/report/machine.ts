import { cpus, loadavg, release, totalmem } from "node:os";
import type { Cores } from "../run/cores.js";

/** Where figures were taken. */
export interface Machine {
  readonly processor: string;
  readonly cores: number;
  readonly memoryMegabytes: number;
  readonly kernel: string;
  readonly node: string;
  /** Why client and server had no core each; absent: they had. */
  readonly unpinned?: string;
  /** Processes that wanted to run, over the last minute, before the run and behind it. */
  readonly loadBefore: number;
  readonly loadAfter: number;
}

/** The load of the last minute. */
export function loadNow(): number {
  return Math.round((loadavg()[0] ?? 0) * 100) / 100;
}

/** The machine, at the end of a run that began with this load. */
export function machineOf({ unpinned }: Cores, loadBefore: number): Machine {
  return {
    processor: cpus()[0]?.model.trim() ?? "unknown",
    cores: cpus().length,
    memoryMegabytes: Math.round(totalmem() / 1024 / 1024),
    kernel: release(),
    node: process.version,
    ...(unpinned === undefined ? {} : { unpinned }),
    loadBefore,
    loadAfter: loadNow(),
  };
}
