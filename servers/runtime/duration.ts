import { create } from "@bufbuild/protobuf";
import { type Duration, DurationSchema } from "@bufbuild/protobuf/wkt";

/** Milliseconds of a Duration message; fractions below a millisecond are kept. */
export function toMs(duration: Duration): number {
  return Number(duration.seconds) * 1000 + duration.nanos / 1e6;
}

/** A Duration message of `ms` milliseconds, rounded to a whole nanosecond. */
export function fromMs(ms: number): Duration {
  const seconds = Math.floor(ms / 1000);
  return create(DurationSchema, { seconds: BigInt(seconds), nanos: Math.round((ms - seconds * 1000) * 1e6) });
}

/** Seconds of the longest duration that the protobuf type may hold: some 10,000 years. */
const longestSeconds = 315_576_000_000n;

/** What is wrong with a duration of a request; undefined where nothing is. None is negative here. */
export function durationProblem({ seconds, nanos }: Duration): string | undefined {
  const sound =
    seconds >= 0n && seconds <= longestSeconds && Number.isInteger(nanos) && nanos >= 0 && nanos < 1e9;
  if (sound) return undefined;
  return `expected a duration of 0 or more, seconds to ${longestSeconds} and nanos below 1000000000, found seconds ${seconds} and nanos ${nanos}`;
}

/** Bounds of a duration that callers ask for, in milliseconds. */
export interface Bounds {
  readonly minimumMs: number;
  readonly defaultMs: number;
  readonly maximumMs: number;
}

/** What holds of a duration that was asked for: clamped, never refused; absent is the default (R6, R7). */
export function clamp(asked: Duration | undefined, bounds: Bounds): number {
  if (asked === undefined) return bounds.defaultMs;
  return Math.min(Math.max(toMs(asked), bounds.minimumMs), bounds.maximumMs);
}
