import { describe, expect, it } from "vitest";
import { readFinalAnswer } from "./final-answer.js";
import { rational } from "./rational.js";

describe("readFinalAnswer", () => {
  it.each([
    ["#### 72", rational(72n), "72", undefined],
    ["The answer is $1,234.50.", rational(2469n, 2n), "$1,234.50", "$"],
    ["The answer is -$5", rational(-5n), "-$5", "$"],
    ["#### 72 hair clips", rational(72n), "72 hair clips", "hair clips"],
    ["#### 50%", rational(50n), "50%", "%"],
    ["#### 50 percent", rational(50n), "50 percent", "%"],
    ["#### 12 km/h", rational(12n), "12 km/h", "km/h"],
    ["#### 12km", rational(12n), "12km", "km"],
    ["\\boxed{12\\text{ m}^2}", rational(12n), "12 m²", "m²"],
    ["The answer is 72 clips, which is 48 + 24.", rational(72n), "72 clips", "clips"],
    ["The answer is 48 + 24 = 72 clips.", rational(72n), "72 clips", "clips"],
    ["#### 3 1/2 hours", rational(7n, 2n), "3 1/2 hours", "hours"],
  ])("reads number, words and unit of %j", (message, value, text, unit) => {
    const answer = { kind: "number", value, text, ...(unit === undefined ? {} : { unit }) };
    expect(readFinalAnswer(message)).toEqual(answer);
    expect(readFinalAnswer(message, "number")).toEqual(answer);
  });

  it("falls back to a text where there is no number, unless a number is asked for", () => {
    expect(readFinalAnswer("#### olleh")).toEqual({ kind: "text", value: "olleh" });
    expect(readFinalAnswer("The answer is olleh.")).toEqual({ kind: "text", value: "olleh" });
    expect(readFinalAnswer("#### olleh", "number")).toMatchObject({ kind: "unreadable", code: "no_answer" });
    expect(readFinalAnswer("#### 72", "text")).toEqual({ kind: "text", value: "72" });
  });

  it.each([
    ["", "empty"],
    ["\n", "empty"],
    ["No idea, sorry, I really can not tell you what it might be", "no_answer"],
    ["<think>72", "no_answer"],
    ["She had 48 and sold 24, so there were some left. I hope that helps you.", "only_workings"],
    ["48 + 24 = 72", "only_workings"],
    ["- 72", "only_workings"],
    ["#### 72\n#### 73", "several"],
    ["#### 72 or 73", "several"],
    ["72, 73", "several"],
    ["48\n72", "several"],
    ["The answer is not 72.", "denied"],
    ["#### 72\nThe answer is 73.", "contradicted"],
    ["#### 72\nThe answer is 72 or 73.", "contradicted"],
    ["#### 72\n\n73", "contradicted"],
    ["The answer is 72. Sorry, I meant 73.", "contradicted"],
    ["The answer is 5. Correction: it is -5.", "contradicted"],
    ['#### "olleh"\nActually, it is "helol".', "contradicted"],
    ["The answer is at least 72", "bound"],
    ["\\boxed{many}", "not_a_number"],
    ["\\boxed{72", "malformed"],
    ["#### 72?", "malformed"],
  ])("%j is unreadable: %s", (message, code) => {
    const expects = code === "not_a_number" || message.includes("No idea") ? "number" : undefined;
    const kind = message.includes("olleh") ? "text" : expects;
    const answer = readFinalAnswer(message, kind);
    expect(answer).toMatchObject({ kind: "unreadable", code });
    expect(answer).toHaveProperty("reason", expect.stringMatching(/^[^A-Z<].{10,}[^.]$|^<answer>/u));
  });

  it("takes what stands before the strongest marker for workings", () => {
    expect(readFinalAnswer("The answer is 73.\n#### 72")).toMatchObject({ value: rational(72n) });
    expect(readFinalAnswer("The answer is 24, then 48.\nFinal answer: 72")).toMatchObject({
      value: rational(72n),
    });
    expect(readFinalAnswer("73\n#### 72")).toMatchObject({ value: rational(72n) });
  });

  it("takes the same answer twice for one, however it is written", () => {
    expect(readFinalAnswer("#### 1/2\n\\boxed{0.5}\nThe answer is 50/100 = 1/2.")).toMatchObject({
      value: rational(1n, 2n),
    });
  });

  it("lets a check follow the answer", () => {
    const message =
      "The answer is 72.\n\nWait, let me check: 72 - 24 is 48, and 48 + 24 is 72.\n48 + 24 = 72";
    expect(readFinalAnswer(message)).toMatchObject({ kind: "number", value: rational(72n) });
  });

  it("reads the end of a message that is too long", () => {
    const filler = "She went on counting clips. ".repeat(10_000);
    expect(readFinalAnswer(`#### 73\n${filler}\n#### 72`)).toMatchObject({ value: rational(72n) });
    expect(readFinalAnswer(`#### 72\n${filler}`)).toMatchObject({ code: "no_answer" });
  });

  it.each([
    "#### ",
    "#### 1 ",
    "\\boxed{",
    "\\boxed{1}",
    "<answer>",
    "answer is ",
    "The answer is 72. ",
    "Answer:\n",
    "$",
    "*",
    "_a",
    "`",
    "(",
    "1,",
    "1/",
    "9",
    '"',
    "=",
    "\n",
    "\u2009",
    "\\frac{",
    "<think>",
    "</think>",
    "if the answer is ",
    "actually 73 ",
    "\uD800",
  ])("reads a megabyte of %j without failing", (unit) => {
    const message = unit.repeat(1_000_000 / unit.length);
    for (const kind of ["number", "text"] as const) {
      expect(["number", "text", "unreadable"]).toContain(readFinalAnswer(message, kind).kind);
      expect(["number", "text", "unreadable"]).toContain(
        readFinalAnswer(`The answer is ${message}`, kind).kind,
      );
    }
  });
});
