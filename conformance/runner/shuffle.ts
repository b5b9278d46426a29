import { createHash } from "node:crypto";

/** The items in an order that follows from `seed` and their names alone. */
export function shuffle<T>(items: readonly T[], nameOf: (item: T) => string, seed: string): T[] {
  const key = (item: T): string =>
    createHash("sha256")
      .update(`${seed}/${nameOf(item)}`)
      .digest("hex");
  return items
    .map((item) => ({ item, key: key(item) }))
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ item }) => item);
}
