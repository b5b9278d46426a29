import type { RandomSource } from "./splitmix64.js";

/** The items in an order of chance (Fisher and Yates). */
export function shuffled<T>(items: readonly T[], random: RandomSource): T[] {
  const left = [...items];
  return items.flatMap(() => left.splice(random.integer(0, left.length - 1), 1));
}
