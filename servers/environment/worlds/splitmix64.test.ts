import { describe, expect, it } from "vitest";
import { mix64, splitmix64 } from "./splitmix64.js";

describe("splitmix64", () => {
  it("gives the reference implementation's numbers", () => {
    const zero = splitmix64(0n);
    expect([zero.next(), zero.next(), zero.next()]).toEqual([
      0xe220a8397b1dcdafn,
      0x6e789e6aa1b965f4n,
      0x06c45d188009454fn,
    ]);
    const other = splitmix64(1_234_567n);
    expect([other.next(), other.next()]).toEqual([6_457_827_717_110_365_317n, 3_203_168_211_198_807_973n]);
  });

  it("takes a state modulo 2^64", () => {
    expect(splitmix64(-1n).next()).toBe(splitmix64(2n ** 64n - 1n).next());
    expect(splitmix64(2n ** 64n).next()).toBe(splitmix64(0n).next());
    expect(mix64(2n ** 64n + 5n)).toBe(mix64(5n));
  });

  it("draws every number of a range and none beside it", () => {
    const random = splitmix64(1n);
    const drawn = new Set(Array.from({ length: 500 }, () => random.integer(-2, 3)));
    expect([...drawn].sort((a, b) => a - b)).toEqual([-2, -1, 0, 1, 2, 3]);
    expect(random.integer(7, 7)).toBe(7);
  });

  it("picks every item", () => {
    const random = splitmix64(2n);
    expect(new Set(Array.from({ length: 200 }, () => random.pick(["a", "b", "c"])))).toEqual(new Set("abc"));
  });
});
