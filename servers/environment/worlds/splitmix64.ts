/** A deterministic source of numbers: the same state gives the same numbers on every machine. */
export interface RandomSource {
  /** A whole number from `least` to `most`, both included. */
  integer(least: number, most: number): number;
  /** One of the items. The list must not be empty. */
  pick<T>(items: readonly [T, ...T[]]): T;
}

const GOLDEN_GAMMA = 0x9e3779b97f4a7c15n;

/** SplitMix64's output function (Steele, Lea and Flood, 2014): a bijection that scatters near inputs. */
export function mix64(value: bigint): bigint {
  let z = BigInt.asUintN(64, value);
  z = BigInt.asUintN(64, (z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
  z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn);
  return z ^ (z >> 31n);
}

/** SplitMix64 from a 64-bit state: each number is the mix of the state after adding the golden gamma. */
export function splitmix64(state: bigint): RandomSource & { next(): bigint } {
  let current = BigInt.asUintN(64, state);
  const next = (): bigint => {
    current = BigInt.asUintN(64, current + GOLDEN_GAMMA);
    return mix64(current);
  };
  const integer = (least: number, most: number): number => {
    // The remainder's bias is below 2^-50 for the small ranges of tasks.
    return least + Number(next() % BigInt(most - least + 1));
  };
  const pick = <T>(items: readonly [T, ...T[]]): T => items[integer(0, items.length - 1)] ?? items[0];
  return { next, integer, pick };
}
