import { describe, expect, it } from "vitest";
import { stripLatex, stripMarkdown } from "./plain-text.js";

describe("stripMarkdown", () => {
  it.each([
    ["**72**", "72"],
    ["***72***", "72"],
    ["__72__", "72"],
    ["The *answer* is _72_.", "The answer is 72."],
    ["**Answer:**72", "Answer:72"],
    ["`72`", '"72"'],
    ["### Answer", "Answer"],
    ["#### 72", "#### 72"],
    ["##### Answer", "Answer"],
    ["> 72", "72"],
    ["```json\n72\n```", "\n72\n"],
    ["a\r\nb\rc", "a\nb\nc"],
    ["7\u200B2", "72"],
    ["1_234", "1_234"],
    ["3*4", "3*4"],
    ["2 * 3 * 4", "2 * 3 * 4"],
    ["7**2", "7 2"],
    ["**7**2", "7 2"],
  ])("%j becomes %j", (markup, text) => {
    expect(stripMarkdown(markup)).toBe(text);
  });
});

describe("stripLatex", () => {
  it.each([
    ["$72$", "72"],
    ["\\$72", "$72"],
    ["$\\$72$", "$72"],
    ["$72", "$72"],
    ["\\(72\\)", "72"],
    ["72\\%", "72%"],
    ["1{,}234", "1,234"],
    ["1\\,234", "1\u2009234"],
    ["\\text{72 clips}", "72 clips"],
    ["72\\text{clips}", "72 clips"],
    ["\\mathbf{\\text{72}}", "72"],
    ["\\frac{1}{2}", "1/2"],
    ["3\\frac{1}{2}", "3 1/2"],
    ["\\frac12", "1/2"],
    ["\\dfrac{ 3 }{ 4 }", "3/4"],
    ["\\frac{\\frac{1}{2}}{3}", "( 1/2 )/(3)"],
    ["\\left(72\\right)", "(72)"],
    ["45^{\\circ}", "45°"],
    ["45^\\circ", "45°"],
    ["1.5 \\times 10^{-3}", "1.5 ×10^-3"],
    ["12\\ \\text{m}^2", "12 m^2"],
    ["{72}", "72"],
    ["7\\text{2}", "7 2"],
    ["\\sqrt{64}", "\\sqrt64"],
    ["\\unknown 5", "\\unknown 5"],
  ])("%j becomes %j", (markup, text) => {
    expect(stripLatex(markup)).toBe(text);
  });
});
