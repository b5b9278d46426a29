import { describe, expect, it } from "vitest";
import {
  CalculatorError,
  calculate,
  MAX_DIGITS,
  MAX_EXPRESSION_DEPTH,
  MAX_EXPRESSION_LENGTH,
} from "./calculator.js";

function errorOf(expression: string): CalculatorError {
  try {
    calculate(expression);
  } catch (error) {
    if (error instanceof CalculatorError) {
      return error;
    }
    throw error;
  }
  throw new Error(`${expression} was taken`);
}

describe("calculate", () => {
  it.each([
    ["72", "72"],
    ["0", "0"],
    ["007", "7"],
    ["48 + 24", "72"],
    ["16-3-4", "9"],
    ["2+3*4", "14"],
    ["(2+3)*4", "20"],
    ["20/2*5", "50"],
    ["20/(2*5)", "2"],
    ["1-2-3", "-4"],
    ["1/3", "1/3"],
    ["1/3*3", "1"],
    ["2/6", "1/3"],
    ["-1/3", "-1/3"],
    ["1/-3", "-1/3"],
    ["1/8", "0.125"],
    ["-1/8", "-0.125"],
    ["1/1024", "0.0009765625"],
    ["1/8192", "1/8192"],
    ["0.1+0.2", "0.3"],
    [".5*4", "2"],
    ["1.50", "1.5"],
    ["-5", "-5"],
    ["- 5 + 3", "-2"],
    ["--5", "5"],
    ["+5", "5"],
    ["-(2+3)", "-5"],
    ["2*-3", "-6"],
    ["3 × 4 ÷ 2 − 1", "5"],
    [" ( ( 7 ) ) ", "7"],
    ["9007199254740993*1", "9007199254740993"],
    ["123456789012345678901234567890*2", "246913578024691357802469135780"],
  ])("%s is %s", (expression, result) => {
    expect(calculate(expression)).toBe(result);
  });

  it.each([
    ["", 1, "found the end"],
    ["   ", 4, "found the end"],
    ["1 +", 4, "found the end"],
    ["* 2", 1, 'found "*"'],
    ["2 ** 3", 4, "write a power as a product"],
    ["2^3", 2, "write a power as a product"],
    ["2 3", 3, 'an operator + - * / or the end, found "3"'],
    ["(1+2", 5, "a closing parenthesis, found the end"],
    ["1+2)", 4, 'found ")"'],
    ["()", 2, 'found ")"'],
    ["2(3)", 2, 'found "("'],
    ["1/0", 3, "found 0"],
    ["5 / (3 - 3)", 5, "found 0"],
    ["abc", 1, 'found "a"'],
    ["2*x", 3, 'found "x"'],
    ["process.exit()", 1, 'found "p"'],
    ["1e5", 2, 'found "e"'],
    ["0x10", 2, 'found "x"'],
    ["50%", 3, "division by 100"],
    ["1,234", 2, "without thousands separators"],
    ["1_000", 2, "without thousands separators"],
    ["1.2.3", 4, 'found "."'],
    ["5.", 2, 'found "."'],
    [".", 1, 'found "."'],
    ["1 = 1", 3, 'found "="'],
    ["1;2", 2, 'found ";"'],
    ["1+😀", 3, 'found "😀"'],
    ["٣+1", 1, 'found "٣"'],
  ])("refuses %j at position %i", (expression, position, message) => {
    expect(errorOf(expression)).toMatchObject({ name: "CalculatorError", position });
    expect(errorOf(expression).message).toContain(`position ${position}: expected`);
    expect(errorOf(expression).message).toContain(message);
  });

  it("takes an expression at its limits and refuses one beyond", () => {
    const long = `1${"+1".repeat((MAX_EXPRESSION_LENGTH - 2) / 2)}`;
    expect(calculate(`${long} `)).toBe(`${MAX_EXPRESSION_LENGTH / 2}`);
    expect(errorOf(`${long}  `).message).toContain(`at most ${MAX_EXPRESSION_LENGTH} characters`);

    const nested = (depth: number): string => `${"(".repeat(depth)}7${")".repeat(depth)}`;
    expect(calculate(nested(MAX_EXPRESSION_DEPTH))).toBe("7");
    expect(errorOf(nested(MAX_EXPRESSION_DEPTH + 1)).message).toContain(
      `at most ${MAX_EXPRESSION_DEPTH} nested`,
    );
    expect(errorOf("-".repeat(500)).message).toContain("nested signs");

    const digits = "9".repeat(MAX_DIGITS);
    expect(calculate(digits)).toBe(digits);
    expect(errorOf(`${digits}9`).message).toContain(`at most ${MAX_DIGITS} digits, found ${MAX_DIGITS + 1}`);
  });

  it("refuses results that grow out of hand, those on the way too", () => {
    const digits = "9".repeat(MAX_DIGITS);
    expect(errorOf(`${digits}*10`).message).toContain("found a larger one");
    expect(errorOf(`${digits}*10/10`).message).toContain("found a larger one");
    expect(errorOf(`1/${digits}/10`).message).toContain("found a larger one");
    const primes = Array.from({ length: 120 }, (_, index) => `1/${2 * index + 10_001}`).join("+");
    expect(errorOf(primes).message).toContain("found a larger one");
  });

  it("does not let parentheses side by side count as nested", () => {
    expect(calculate(Array.from({ length: 100 }, () => "(1)").join("+"))).toBe("100");
  });
});
