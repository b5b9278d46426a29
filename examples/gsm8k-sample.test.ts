import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { calculate } from "../servers/environment/worlds/reasoning/calculator.js";
import { judge } from "../servers/environment/worlds/reasoning/compare.js";
import { parseGsm8kRow } from "../servers/environment/worlds/reasoning/gsm8k.js";
import { testData } from "../test/test-data.js";

const text = readFileSync(resolve(import.meta.dirname, "gsm8k-sample.jsonl"), "utf8");
const lines = text.trimEnd().split("\n");
const rows = lines.map((line) => {
  const { answer }: { answer: string } = JSON.parse(line);
  return { ...parseGsm8kRow(new TextEncoder().encode(line)), answer };
});
const ANNOTATION = /<<([^=<>]+)=([^=<>]+)>>(-?[\d.,]*\d)/g;

/** A number as the calculator writes it: `7.20` is `7.2`. */
const plain = (number: string): string => calculate(number.replaceAll(",", ""));

describe("examples/gsm8k-sample.jsonl", () => {
  it("holds 20 different rows in the published schema and nothing else", () => {
    expect(new Set(rows.map((row) => row.question)).size).toBe(20);
    expect(text.endsWith("\n")).toBe(true);
    for (const line of lines) {
      expect(Object.keys(JSON.parse(line))).toEqual(["question", "answer"]);
    }
  });

  it.each(rows)("calculates rightly: $question", ({ workings, expected }) => {
    const annotations = [...workings.matchAll(ANNOTATION)];
    expect(annotations.length).toBe(workings.split("<<").length - 1);
    expect(annotations.length).toBeGreaterThanOrEqual(2);
    for (const [, expression = "", result = "", written = ""] of annotations) {
      expect(`${expression}=${calculate(expression)}`).toBe(`${expression}=${plain(result)}`);
      expect(plain(written)).toBe(plain(result));
    }
    expect(plain(annotations.at(-1)?.[2] ?? "")).toBe(plain(expected));
  });

  it.each(rows)(
    "is judged by its own answer alone: $question",
    ({ question, answer, workings, expected }) => {
      expect(judge(expected, answer).correct).toBe(true);
      expect(judge(expected, workings).correct).toBe(false);
      expect(judge(expected, question).correct).toBe(false);
      expect(
        judge(expected, `${workings}\n#### ${plain(`${expected.replaceAll(",", "")} + 1`)}`).correct,
      ).toBe(false);
    },
  );
});

const published = testData("gsm8k/test.jsonl");

it("copies no question of GSM8K", (context) => {
  const words = (question: string): string => question.toLowerCase().replace(/[^a-z ]/g, "");
  const opening = (question: string): string => words(question).split(" ").slice(0, 6).join(" ");
  const theirs = new Set(
    readFileSync(published.need(context), "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => opening(parseGsm8kRow(new TextEncoder().encode(line)).question)),
  );
  expect(rows.filter((row) => theirs.has(opening(row.question)))).toEqual([]);
});
