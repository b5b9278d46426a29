import type { LoadSession } from "../points/point.js";

/** What a load process is to do. */
export interface LoadTask {
  readonly open: () => Promise<LoadSession>;
  /** Sessions at once. */
  readonly sessions: number;
  /** How long is counted, after the warm-up. */
  readonly seconds: number;
  /** Tells that what is to be open is open: whoever runs this begins to count CPU time. */
  readonly ready: () => void;
}

/** Seconds before anything is counted, in which code is compiled; the peers have 1.5 too. */
export const warmSeconds = Number(process.env["BENCH_WARM_SECONDS"] ?? 1.5);
