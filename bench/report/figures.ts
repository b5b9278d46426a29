import type { Held, Measurement, Rates } from "../run/measurement.js";
import type { Mode } from "../run/target.js";

/** One figure over its tries. */
export interface Figure {
  readonly point: string;
  readonly mode: Mode;
  readonly sessions: number;
  /** Medians; absent where no try of this kind ended well. */
  readonly median?: Rates;
  /** Least and greatest rate of the tries. */
  readonly range?: readonly [number, number];
  readonly held?: Held;
  readonly tries: readonly Measurement[];
}

/** The middle of some numbers; between two, the mean of both. Undefined without any. */
export function median(numbers: readonly number[]): number | undefined {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const low = sorted[Math.ceil(middle) - 1];
  const high = sorted[Math.floor(middle)];
  return low === undefined || high === undefined ? undefined : (low + high) / 2;
}

/** Puts the tries of each figure together, in the order in which they were first taken. */
export function figuresOf(measurements: readonly Measurement[]): readonly Figure[] {
  const tries = new Map<string, Measurement[]>();
  for (const measurement of measurements) {
    const { point, mode, sessions } = measurement;
    const key = JSON.stringify([point, mode, sessions]);
    tries.set(key, [...(tries.get(key) ?? []), measurement]);
  }
  return [...tries.values()].map(figureOf);
}

function figureOf(tries: readonly Measurement[]): Figure {
  const [first] = tries;
  if (first === undefined) throw new Error("expected at least one try of a figure");
  const rates = tries.filter((one): one is Measurement & Rates => "perSecond" in one);
  const held = tries.find((one): one is Measurement & Held => "growthMegabytes" in one);
  const { point, mode, sessions } = first;
  const figure = { point, mode, sessions, tries, ...(held === undefined ? {} : { held }) };
  if (rates.length === 0) return figure;
  const of = (read: (rate: Rates) => number): number => median(rates.map(read)) ?? 0;
  const known = (read: (rate: Rates) => number | null): number | null =>
    median(rates.map(read).filter((one) => one !== null)) ?? null;
  const speeds = rates.map(({ perSecond }) => perSecond);
  return {
    ...figure,
    range: [Math.min(...speeds), Math.max(...speeds)],
    median: {
      perSecond: of(({ perSecond }) => perSecond),
      p50Us: of(({ p50Us }) => p50Us),
      p99Us: of(({ p99Us }) => p99Us),
      serverCpuUs: known(({ serverCpuUs }) => serverCpuUs),
      clientCpuUs: known(({ clientCpuUs }) => clientCpuUs),
      foreignCores: of(({ foreignCores }) => foreignCores),
    },
  };
}
