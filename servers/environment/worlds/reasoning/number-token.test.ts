import { describe, expect, it } from "vitest";
import { scanNumber } from "./number-token.js";
import { formatRational } from "./rational.js";

function read(text: string): string {
  const token = scanNumber(text, 0);
  return token.ok
    ? `${formatRational(token.value)} + ${JSON.stringify(text.slice(token.end))}`
    : token.reason;
}

describe("scanNumber", () => {
  it.each([
    ["72", '72 + ""'],
    ["72 clips", '72 + " clips"'],
    ["72.", '72 + "."'],
    ["72,", '72 + ","'],
    ["72, 73", '72 + ", 73"'],
    ["1,234,567.50", '1234567.5 + ""'],
    ["1_234", '1234 + ""'],
    ["1\u00A0234", '1234 + ""'],
    ["12 345", '12 + " 345"'],
    [".5", '0.5 + ""'],
    ["1e2.", '100 + "."'],
    ["1.5E+3x", '1.5 + "E+3x"'],
    ["2 × 10^-3 m", '0.002 + " m"'],
    ["2·10⁻³", '0.002 + ""'],
    ["5 × 10 boxes", '5 + " × 10 boxes"'],
    ["1/2", '0.5 + ""'],
    ["1 / 3", '1/3 + ""'],
    ["1,000/3", '1000/3 + ""'],
    ["3 1/2 h", '3.5 + " h"'],
    ["½", '0.5 + ""'],
    ["2⅔ cups", '8/3 + " cups"'],
    ["60 miles/hour", '60 + " miles/hour"'],
  ])("%j is %s", (text, result) => {
    expect(read(text)).toBe(result);
  });

  it.each([
    ["", "there is no number"],
    ["x", "there is no number"],
    ["1/0", "denominator is 0"],
    ["0/5", "lowest terms"],
    ["144/2", "lowest terms"],
    ["2/4", "lowest terms"],
    ["5/1", "lowest terms"],
    ["3 2/4", "lowest terms"],
    ["3 7/2", "lowest terms"],
    ["3/4/2024", "part of something longer"],
    ["1.5/2", "part of something longer"],
    ["2024-01-02", "part of something longer"],
    ["10:30", "part of something longer"],
    ["72–73", "part of something longer"],
    ["1,23", "part of something longer"],
    ["1,2345", "part of something longer"],
    ["1.234,5", "part of something longer"],
    ["1.2.3", "part of something longer"],
    ["0.333...", "unfinished decimal"],
    ["0.3…", "unfinished decimal"],
    ["1e401", "too many digits"],
    ["1e-999999999999", "too many digits"],
    ["9".repeat(401), "too many digits"],
    [`1/${"3".repeat(401)}`, "too many digits"],
    [`${"3".repeat(401)}½`, "too many digits"],
  ])("%j is no number", (text, reason) => {
    expect(read(text)).toContain(reason);
  });

  it("reads at the place that it is given", () => {
    expect(scanNumber("a 72 b", 2)).toMatchObject({ ok: true, end: 4 });
    expect(scanNumber("a 72 b", 1)).toMatchObject({ ok: false });
  });
});
