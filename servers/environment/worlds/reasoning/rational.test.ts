import { describe, expect, it } from "vitest";
import { add, divide, equals, formatRational, fromDecimal, multiply, negate, rational } from "./rational.js";

describe("rational", () => {
  it.each([
    [2n, 4n, 1n, 2n],
    [-2n, 4n, -1n, 2n],
    [2n, -4n, -1n, 2n],
    [-2n, -4n, 1n, 2n],
    [0n, -7n, 0n, 1n],
    [6n, 3n, 2n, 1n],
  ])("%i/%i is kept as %i/%i", (numerator, denominator, over, under) => {
    expect(rational(numerator, denominator)).toEqual({ numerator: over, denominator: under });
  });

  it("has no fraction with the denominator 0", () => {
    expect(() => rational(1n, 0n)).toThrow(RangeError);
    expect(() => divide(rational(1n), rational(0n))).toThrow(RangeError);
  });

  it("calculates exactly", () => {
    const third = rational(1n, 3n);
    expect(add(add(third, third), third)).toEqual(rational(1n));
    expect(multiply(third, rational(3n))).toEqual(rational(1n));
    expect(divide(rational(1n), rational(-3n))).toEqual(negate(third));
    expect(equals(add(fromDecimal("1", 1), fromDecimal("2", 1)), fromDecimal("3", 1))).toBe(true);
    expect(equals(third, fromDecimal("333333333333", 12))).toBe(false);
    expect(equals(third, negate(third))).toBe(false);
  });

  it("reads decimals with and without exponent", () => {
    expect(fromDecimal("123450", 2)).toEqual(rational(2469n, 2n));
    expect(fromDecimal("15", 1, 3)).toEqual(rational(1500n));
    expect(fromDecimal("15", 1, -1)).toEqual(rational(3n, 20n));
  });

  it.each([
    [rational(72n), "72"],
    [rational(-72n), "-72"],
    [rational(0n), "0"],
    [rational(1n, 2n), "0.5"],
    [rational(-1n, 2n), "-0.5"],
    [rational(5n, 4n), "1.25"],
    [rational(1n, 1000n), "0.001"],
    [rational(-1n, 3n), "-1/3"],
    [rational(1n, 10n ** 12n), "0.000000000001"],
    [rational(1n, 10n ** 13n), "1/10000000000000"],
  ])("is written without loss", (value, text) => {
    expect(formatRational(value)).toBe(text);
  });
});
