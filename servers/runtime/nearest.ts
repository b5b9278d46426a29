import { closest, distance } from "fastest-levenshtein";

/** A misspelling has at most this share of its letters wrong; what is further off is no hint. */
const farthestHint = 0.5;

/** ` did you mean "x"?` where a known name is near, else the list of what is known. */
export function nearest(name: string, known: readonly string[]): string {
  if (known.length === 0) return "";
  const near = closest(name, known);
  return distance(name, near) <= Math.max(2, farthestHint * near.length)
    ? `; did you mean "${near}"?`
    : `; known: ${known.join(", ")}`;
}
