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
