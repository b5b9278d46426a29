import { describe, expect, it } from "vitest";
import { printable } from "./printable.js";

describe("printable", () => {
  it.each([
    ["plain ü 漢 🙂", "plain ü 漢 🙂"],
    ["a\nb\tc", "a\\nb\\tc"],
    ["\u001b[31mred", "\\u001b[31mred"],
    ["\u202Eturned", "\\u{202e}turned"],
    ["lone \ud800", "lone \\ud800"],
    ["line\u2028end", "line\\u{2028}end"],
  ])("%j", (text, printed) => {
    expect(printable(text)).toBe(printed);
  });

  it("cuts, and tells how much there was", () => {
    expect(printable("x".repeat(200), 10)).toBe("xxxxxxxxxx... (200 characters)");
  });
});
