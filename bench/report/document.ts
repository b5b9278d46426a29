import { IDLE, MANY, WORKERS } from "../plan.js";
import type { Measurement } from "../run/measurement.js";
import { type Figure, figuresOf } from "./figures.js";
import { type Goal, goalsOf } from "./goals.js";
import type { Machine } from "./machine.js";
import { type Ratios, rates, ratiosOf } from "./ratios.js";

/** Something that was not measured, and why. */
export interface Skipped {
  readonly name: string;
  readonly reason: string;
}

/** What a run of the benchmark writes; its first level keeps its names. */
export interface BenchDocument {
  readonly date: string;
  readonly version: string;
  readonly options: { readonly tries: number; readonly seconds: number; readonly warmSeconds: number };
  readonly machine: Machine;
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
}

/** Makes the document of a run. */
export function documentOf(
  measurements: readonly Measurement[],
  about: Pick<BenchDocument, "date" | "version" | "options" | "machine" | "skipped">,
): BenchDocument {
  const figures = figuresOf(measurements);
  const created = figures.find(
    (one) => one.point === "step" && one.mode === "create" && one.sessions === WORKERS,
  );
  const idle = figures.find((one) => one.point === "step" && one.mode === "idle" && one.sessions === IDLE);
  const headline = {
    ratios: ratiosOf(figures),
    episodesPerSecond: rates(figures)("episodes", MANY) ?? null,
    sessionsOpenedPerSecond: created?.median?.perSecond ?? null,
    idleSessionsMegabytes: idle?.held?.growthMegabytes ?? null,
  };
  const { date, version, options, machine, skipped } = about;
  return { date, version, options, machine, ...headline, goals: goalsOf(headline), figures, skipped };
}
