import { create } from "@bufbuild/protobuf";
import { type Duration, DurationSchema } from "@bufbuild/protobuf/wkt";

/** A Duration of this many milliseconds. */
export function duration(milliseconds: number): Duration {
  const seconds = Math.trunc(milliseconds / 1_000);
  const nanos = Math.round((milliseconds - seconds * 1_000) * 1e6);
  return create(DurationSchema, { seconds: BigInt(seconds), nanos });
}

/** Milliseconds of a Duration; undefined: there is none. */
export function milliseconds(value: Duration | undefined): number | undefined {
  return value === undefined ? undefined : Number(value.seconds) * 1_000 + value.nanos / 1e6;
}
