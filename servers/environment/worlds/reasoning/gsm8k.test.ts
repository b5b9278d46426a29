import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { testData } from "../../../../test/test-data.js";
import { judge } from "./compare.js";
import { parseGsm8kRow, RowError } from "./gsm8k.js";
import { add, formatRational, multiply, negate, rational } from "./rational.js";

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
const row = (fields: unknown): Uint8Array => encode(JSON.stringify(fields));
const question = "How many?";

function errorOf(bytes: Uint8Array): RowError {
  try {
    parseGsm8kRow(bytes);
  } catch (error) {
    if (error instanceof RowError) {
      return error;
    }
    throw error;
  }
  throw new Error("the row was taken");
}

describe("parseGsm8kRow", () => {
  it("reads question, workings and final answer", () => {
    const answer = "He has 2*3=<<2*3=6>>6 boxes.\nThat is 6*200=<<6*200=1200>>1200 pens.\n#### 1,200";
    expect(parseGsm8kRow(row({ question, answer }))).toEqual({
      question,
      expected: "1,200",
      value: rational(1200n),
      workings: "He has 2*3=<<2*3=6>>6 boxes.\nThat is 6*200=<<6*200=1200>>1200 pens.",
    });
  });

  it.each([
    ["#### -5", rational(-5n)],
    ["#### 2.5", rational(5n, 2n)],
    ["####7", rational(7n)],
    ["#### 7\n", rational(7n)],
  ])("reads the number of %j", (answer, value) => {
    expect(parseGsm8kRow(row({ question, answer })).value).toEqual(value);
  });

  it("leaves further keys alone and takes a byte order mark", () => {
    expect(parseGsm8kRow(encode(`\uFEFF{"id":1,"question":"Q","answer":"#### 1"}`)).expected).toBe("1");
  });

  it.each([
    ["invalid UTF-8", Uint8Array.of(0x7b, 0xff, 0x7d), "", "UTF-8 text", "bytes that are not UTF-8"],
    ["no bytes", new Uint8Array(), "", "a JSON object", "nothing"],
    ["no JSON", encode("question: 1"), "", "a JSON object", "text that is not JSON"],
    [
      "two rows",
      encode('{"question":"Q","answer":"#### 1"}\n{}'),
      "",
      "a JSON object",
      "text that is not JSON",
    ],
    ["a list", row([1]), "", "a JSON object", "a list"],
    ["null", row(null), "", "a JSON object", "null"],
    ["a number", row(7), "", "a JSON object", "a number"],
    ["no question", row({ answer: "#### 1" }), "question", "a text", "nothing"],
    ["an inherited field", row({ question, toString: 1 }), "answer", "a text", "nothing"],
    ["a question that is a number", row({ question: 7, answer: "#### 1" }), "question", "a text", "a number"],
    [
      "an empty question",
      row({ question: " ", answer: "#### 1" }),
      "question",
      "a text that is not empty",
      "an empty one",
    ],
    ["no answer", row({ question }), "answer", "a text", "nothing"],
    ["an answer that is a list", row({ question, answer: ["#### 1"] }), "answer", "a text", "a list"],
    ["an answer that is null", row({ question, answer: null }), "answer", "a text", "null"],
    ["an answer that is a number", row({ question, answer: 72 }), "answer", "a text", "a number"],
    ["an empty answer", row({ question, answer: "" }), "answer", "a text that is not empty", "an empty one"],
    ["no marker", row({ question, answer: "It is 72." }), "answer", "the final answer after ####", "no ####"],
    [
      "a marker without number",
      row({ question, answer: "#### " }),
      "answer",
      "a number after ####",
      "nothing",
    ],
    ["a word", row({ question, answer: "#### many" }), "answer", "a number after ####", "something else"],
    [
      "a number with unit",
      row({ question, answer: "#### 72 clips" }),
      "answer",
      "a number after ####",
      "something else",
    ],
    [
      "two numbers",
      row({ question, answer: "#### 72 73" }),
      "answer",
      "a number after ####",
      "something else",
    ],
    ["two markers", row({ question, answer: "#### 72\n#### 72" }), "answer", "one ####", "2 of them"],
    ["three markers", row({ question, answer: "#### 1 #### 2 #### 3" }), "answer", "one ####", "3 of them"],
    [
      "half a character",
      encode('{"question":"\\ud83d","answer":"#### 1"}'),
      "question",
      "well-formed Unicode",
      "half of a surrogate pair",
    ],
  ])("refuses %s", (_, bytes, path, expected, found) => {
    const error = errorOf(bytes);
    expect(error).toMatchObject({ name: "RowError", path, expected, found });
    expect(error.message).toContain(path === "" ? "row: expected" : `${path}: expected`);
  });

  it("does not tell the row's text in an error, for it holds the solution", () => {
    expect(errorOf(row({ question, answer: "secret #### hidden" })).message).not.toMatch(/secret|hidden/);
  });
});

const data = testData("gsm8k/test.jsonl");

describe.skipIf(data.skip !== false)(
  "GSM8K's published test split (skipped where the data is absent)",
  () => {
    const lines = existsSync(data.path)
      ? readFileSync(data.path, "utf8")
          .split("\n")
          .filter((line) => line !== "")
      : [];
    const rows = lines.map((line) => ({ line, parsed: parseGsm8kRow(encode(line)) }));

    it("has 1,319 rows and all are read", () => {
      expect(rows).toHaveLength(1_319);
    });

    it("each row's own answer is judged correct", () => {
      const wrong = rows.filter(({ line, parsed }) => {
        const { answer }: { answer: string } = JSON.parse(line);
        return !judge(parsed.expected, answer).correct;
      });
      expect(wrong).toEqual([]);
    });

    it("each row's answer is judged correct in other words", () => {
      const phrasings = [
        (answer: string): string => `The answer is ${answer}.`,
        (answer: string): string => `So the result is $\\boxed{${answer}}$.`,
        (answer: string): string => `**Answer:** $${answer} in all. Let me know if you need more.`,
      ];
      const wrong = rows.flatMap(({ parsed }) =>
        phrasings
          .map((phrase) => `${parsed.workings}\n${phrase(parsed.expected)}`)
          .filter((message) => !judge(parsed.expected, message).correct),
      );
      expect(wrong).toEqual([]);
    });

    it("the workings of no row score without its final answer", () => {
      const scored = rows.filter(({ parsed }) => judge(parsed.expected, parsed.workings).correct);
      expect(scored.map(({ parsed }) => parsed.workings)).toEqual([]);
    });

    it("no row's question scores as its answer", () => {
      const scored = rows.filter(({ parsed }) => judge(parsed.expected, parsed.question).correct);
      expect(scored.map(({ parsed }) => parsed.question)).toEqual([]);
    });

    it("near misses are judged wrong, with the row's workings before them", () => {
      const scored: string[] = [];
      for (const { parsed } of rows) {
        const { value } = parsed;
        const misses = [add(value, rational(1n)), add(value, rational(1n, 1_000n))];
        if (value.numerator !== 0n) {
          misses.push(negate(value), multiply(value, rational(10n)), multiply(value, rational(1n, 10n)));
        }
        for (const miss of misses) {
          const message = `${parsed.workings}\n#### ${formatRational(miss)}`;
          const judgement = judge(parsed.expected, message);
          if (judgement.correct || judgement.read !== formatRational(miss)) {
            scored.push(message);
          }
        }
      }
      expect(scored).toEqual([]);
    });

    it("two final answers are judged wrong, though one is right", () => {
      const scored = rows.filter(({ parsed }) => {
        const other = formatRational(add(parsed.value, rational(1n)));
        return [`#### ${other}\n#### ${parsed.expected}`, `#### ${parsed.expected} or ${other}`].some(
          (message) => judge(parsed.expected, message).correct,
        );
      });
      expect(scored).toEqual([]);
    });
  },
);
