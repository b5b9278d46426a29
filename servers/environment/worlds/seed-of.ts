import { createHash } from "node:crypto";

/** The seed that a text gives: 64 bits of its digest, the same on every machine. */
export function seedOf(text: string): bigint {
  return createHash("sha256").update(text).digest().readBigUInt64LE();
}
