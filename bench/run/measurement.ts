import type { Mode } from "./target.js";

/** What one try of a job gave, or why it gave nothing. */
export type Measurement = {
  readonly point: string;
  readonly mode: Mode;
  readonly sessions: number;
  /** Number of the try, from 0. */
  readonly attempt: number;
} & (Rates | Held | { readonly error: string });

/** Of a load that steps or opens sessions. */
export interface Rates {
  /** Steps, sessions or episodes a second. */
  readonly perSecond: number;
  readonly p50Us: number;
  readonly p99Us: number;
  /** CPU microseconds each of the server's and the load's process; null where it could not be read. */
  readonly serverCpuUs: number | null;
  readonly clientCpuUs: number | null;
  /** Cores that others kept busy meanwhile, 0 to the machine's number. */
  readonly foreignCores: number;
}

/** Of sessions that are held. */
export interface Held {
  readonly open: number;
  readonly emptyMegabytes: number;
  readonly megabytes: number;
  readonly growthMegabytes: number;
}
