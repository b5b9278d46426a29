import { createHash } from "node:crypto";

/** Numbers from 0 to below 1 that depend on the seed alone. */
export function seededRandom(seed: string): () => number {
  let drawn = 0;
  return () => {
    drawn += 1;
    return createHash("sha256").update(`${seed}#${drawn}`).digest().readUInt32LE() / 2 ** 32;
  };
}
