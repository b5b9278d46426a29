import { type MeasureOptions, measure } from "./measure.js";
import type { Measurement } from "./measurement.js";
import type { Job } from "./target.js";

/** How tries are made. */
export interface TriesOptions extends MeasureOptions {
  readonly tries: number;
  /** Told of each measurement as it comes. */
  readonly onMeasured: (measurement: Measurement) => void;
}

/**
 * Takes every figure once, then again in the opposite order, and so on: what the machine does beside falls on all of
 * them alike, and none is always behind the same one. Idle memory does not depend on the moment: it is taken once.
 */
export async function runTries(jobs: readonly Job[], options: TriesOptions): Promise<readonly Measurement[]> {
  const measurements: Measurement[] = [];
  for (let attempt = 0; attempt < options.tries; attempt += 1) {
    const due = jobs.filter(({ mode }) => mode !== "idle" || attempt === 0);
    for (const job of attempt % 2 === 0 ? due : due.toReversed()) {
      const measurement = await attemptAt(job, attempt, options);
      measurements.push(measurement);
      options.onMeasured(measurement);
    }
  }
  return measurements;
}

/** A point that cannot be measured is a result, and no end of the run. */
async function attemptAt(job: Job, attempt: number, options: MeasureOptions): Promise<Measurement> {
  const { target, mode, sessions } = job;
  const at = { point: target.name, mode, sessions, attempt };
  try {
    return { ...at, ...(await measure(job, options)) };
  } catch (error) {
    return { ...at, error: error instanceof Error ? error.message : String(error) };
  }
}
