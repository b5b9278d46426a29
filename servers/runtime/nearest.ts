import { closest, distance } from "fastest-levenshtein";

/** A misspelling has at most this share of its letters wrong; what is further off is no hint. */
const farthestHint = 0.5;

/** One that is written out is meant, however far off by letters: `min` is `minimum`, not `timing`. */
function isAbbreviation(name: string, known: string): boolean {
  return name.length >= 3 && (known.startsWith(name) || (known.length >= 3 && name.startsWith(known)));
}

function abbreviated(name: string, known: readonly string[]): string | undefined {
  const candidates = known.filter((one) => isAbbreviation(name, one));
  return candidates.length === 0 ? undefined : closest(name, candidates);
}

/** ` did you mean "x"?` where a known name is near, else the list of what is known. */
export function nearest(name: string, known: readonly string[]): string {
  if (known.length === 0) return "";
  const near = abbreviated(name, known) ?? closest(name, known);
  return isAbbreviation(name, near) || distance(name, near) <= Math.max(2, farthestHint * near.length)
    ? `; did you mean "${near}"?`
    : `; known: ${known.join(", ")}`;
}
