import { IDLE, WORKERS } from "../plan.js";
import type { Measurement } from "../run/measurement.js";
import { type Figure, figuresOf, median } from "./figures.js";
import { type Goal, goalsOf } from "./goals.js";
import type { Machine } from "./machine.js";
import { type Ratios, rates, ratiosOf } from "./ratios.js";

/** Something that was not measured, and why. */
export interface Skipped {
  readonly name: string;
  readonly reason: string;
}

/**
 * Cores busy with other work from which a run counts as disturbed: even on the core beside ours it slows both sides, and
 * those the most that have the most code to compile and the most memory to move.
 */
export const DISTURBED = 0.25;

/** What a run of the benchmark writes; its first level keeps its names. */
export interface BenchDocument {
  readonly date: string;
  readonly version: string;
  readonly options: { readonly tries: number; readonly seconds: number; readonly warmSeconds: number };
  readonly machine: Machine;
  /** Cores that others kept busy while figures were taken, the median: above {@link DISTURBED} ratios only indicate. */
  readonly foreignCores: number | null;
  readonly ratios: Ratios;
  /** Whole episodes a second, everything in one process; null where not measured. */
  readonly episodesPerSecond: number | null;
  /** Sessions that 16 workers seed and close each second over one channel. */
  readonly sessionsOpenedPerSecond: number | null;
  /** Growth of the server's resident memory by 10,000 idle sessions. */
  readonly idleSessionsMegabytes: number | null;
  readonly goals: readonly Goal[];
  readonly figures: readonly Figure[];
  readonly skipped: readonly Skipped[];
  /** What took the time, from profiles that were taken behind the tries. */
  readonly dominant: readonly Dominant[];
}

/** What dominates one process of a point. */
export interface Dominant {
  readonly point: string;
  readonly side: "server" | "client";
  readonly sessions: number;
  /** Its greatest parts by their own time. */
  readonly parts: string;
}

/** Makes the document of a run. */
export function documentOf(
  measurements: readonly Measurement[],
  about: Pick<BenchDocument, "date" | "version" | "options" | "machine" | "skipped" | "dominant">,
): BenchDocument {
  const figures = figuresOf(measurements);
  const created = figures.find(
    (one) => one.point === "step" && one.mode === "create" && one.sessions === WORKERS,
  );
  const idle = figures.find((one) => one.point === "step" && one.mode === "idle" && one.sessions === IDLE);
  const headline = {
    ratios: ratiosOf(figures),
    episodesPerSecond: rates(figures)("episodes", WORKERS) ?? null,
    sessionsOpenedPerSecond: created?.median?.perSecond ?? null,
    idleSessionsMegabytes: idle?.held?.growthMegabytes ?? null,
  };
  const foreign = measurements.flatMap((one) => ("foreignCores" in one ? [one.foreignCores] : []));
  const foreignCores = median(foreign) ?? null;
  const { date, version, options, machine, skipped, dominant } = about;
  return {
    date,
    version,
    options,
    machine,
    foreignCores,
    ...headline,
    goals: goalsOf(headline),
    figures,
    skipped,
    dominant,
  };
}
