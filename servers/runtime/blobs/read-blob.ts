import type { BlobRef } from "../../../gen/index.js";
import { Refusal } from "../refusal.js";
import type { BlobReader } from "./blob-store.js";

/** The bytes that a reference names. Throws NAME_UNKNOWN with the path of a reference that cannot be read (ALL-BLOB-007). */
export function readBlob(reader: BlobReader, ref: BlobRef | undefined, field: string): Uint8Array {
  const bytes = ref === undefined ? undefined : reader.get(ref);
  if (bytes !== undefined) return bytes;
  const description = `these bytes are not held here; ${reader.otherwise}`;
  throw new Refusal("NAME_UNKNOWN", `${field}: ${description}`, { violations: [{ field, description }] });
}

/** Content above a bound, in bytes; `what` has it: `a blob`. */
export interface TooMuch {
  readonly what: string;
  readonly limit: number;
  readonly actual: bigint;
}

/** The refusal of content that is above a bound. */
export function contentTooLarge(field: string, { what, limit, actual }: TooMuch): Refusal {
  const description = `expected at most ${limit} bytes, found ${actual}: ${what} has no more here`;
  return new Refusal("CONTENT_TOO_LARGE", `${field}: ${description}`, {
    violations: [{ field, description }],
    metadata: { limit: String(limit), actual: String(actual) },
  });
}
