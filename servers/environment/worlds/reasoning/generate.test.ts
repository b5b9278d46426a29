import { describe, expect, it } from "vitest";
import { calculate, evaluate } from "./calculator.js";
import { judge } from "./compare.js";
import { type GeneratedTask, generateTask, MAX_DIFFICULTY, type TaskKind } from "./generate.js";
import { add, formatRational, multiply, negate, rational } from "./rational.js";
import { WORDS } from "./words.js";

const KINDS: readonly TaskKind[] = ["arithmetic", "strings"];
const SEEDS = [0n, 1n, -1n, 2n ** 53n + 1n, 2n ** 63n - 1n];

function tasks(kind: TaskKind): GeneratedTask[] {
  return SEEDS.flatMap((seed) =>
    Array.from({ length: 120 }, (_, index) => generateTask({ kind, index, seed })),
  );
}

const PHRASINGS: readonly ((answer: string) => string)[] = [
  (answer) => `#### ${answer}`,
  (answer) => `I worked it out.\n\n#### ${answer}\n`,
  (answer) => `The answer is ${answer}.`,
  (answer) => `**Answer:** ${answer}`,
  (answer) => `Final answer: \`${answer}\``,
  (answer) => `So it is $\\boxed{\\text{${answer}}}$.`,
  (answer) => `<answer>${answer}</answer>`,
  (answer) => answer,
  (answer) => `Step by step, this gives\n**${answer}**`,
];

/** Answers that are near the right one and wrong. */
function perturbations({ kind, expected }: GeneratedTask): string[] {
  if (kind === "arithmetic" || /^\d+$/.test(expected)) {
    const value = evaluate(expected);
    const near = [add(value, rational(1n)), add(value, rational(1n, 1_000n)), add(value, rational(-1n))];
    const scaled = value.numerator === 0n ? [] : [negate(value), multiply(value, rational(10n))];
    return [...near, ...scaled].map(formatRational);
  }
  const letters = [...expected];
  const turned = letters.toReversed().join("");
  return [`${expected}x`, expected.slice(1), expected.toUpperCase(), turned].filter(
    (text) => text !== expected,
  );
}

describe("generateTask", () => {
  it("gives the same task for the same options", () => {
    for (const kind of KINDS) {
      expect(tasks(kind)).toEqual(tasks(kind));
    }
  });

  it("keeps its tasks over releases", () => {
    const first = KINDS.flatMap((kind) => [0, 1, 2].map((index) => generateTask({ kind, index, seed: 7n })));
    expect(
      first.map(({ prompt, expected }) => `${prompt.split("\n")[0]} ${expected}`),
    ).toMatchInlineSnapshot(`
      [
        "Work out the exact value of 154 / 28. 5.5",
        "Amara has 37 shells. Then come 28 more. Then 19 are given away. How many shells does Amara have now? 46",
        "Greta has 47 tickets. Then come 5 bags with 12 tickets each. Then come 18 more. Then the number doubles. How many tickets does Greta have now? 250",
        "Put the letters of "planet" in alphabetical order, each as often as it occurs and without blanks. aelnpt",
        "Write the last letters of these words as one string, in order: "ribbon letter mountain walnut". nrnt",
        "Write "kettleyellow" backwards, letter by letter. wolleyelttek",
      ]
    `);
  });

  it("gives other tasks for other seeds, indexes and kinds", () => {
    for (const kind of KINDS) {
      const all = tasks(kind);
      expect(new Set(all.map((task) => task.prompt)).size).toBeGreaterThan(all.length * 0.95);
    }
    const one = generateTask({ kind: "arithmetic", index: 1, seed: 0n });
    expect(generateTask({ kind: "arithmetic", index: 0, seed: 1n }).prompt).not.toBe(one.prompt);
    expect(generateTask({ kind: "arithmetic", index: 1, seed: 2n ** 64n })).toEqual(one);
  });

  it("has every difficulty in every five tasks", () => {
    for (const kind of KINDS) {
      const five = Array.from({ length: 5 }, (_, index) =>
        generateTask({ kind, index: index + 3, seed: 9n }),
      );
      expect(five.map((task) => task.difficulty).sort()).toEqual([1, 2, 3, 4, MAX_DIFFICULTY]);
    }
  });

  it.each([-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])("refuses the index %d", (index) => {
    expect(() => generateTask({ kind: "strings", index, seed: 0n })).toThrow(RangeError);
  });

  it.each(KINDS)("%s: the expected answer is right in every phrasing", (kind) => {
    const wrong = tasks(kind).flatMap((task) =>
      PHRASINGS.map((phrase) => ({ task, message: phrase(task.expected) })).filter(
        ({ message }) => !judge(task.expected, message).correct,
      ),
    );
    expect(wrong).toEqual([]);
  });

  it.each(KINDS)("%s: no perturbation is right in any phrasing", (kind) => {
    const right = tasks(kind).flatMap((task) =>
      perturbations(task).flatMap((answer) =>
        PHRASINGS.map((phrase) => ({ task, message: phrase(answer) })).filter(
          ({ message }) => judge(task.expected, message).correct,
        ),
      ),
    );
    expect(right).toEqual([]);
  });

  it.each(KINDS)("%s: repeating the question or a part of it is never right", (kind) => {
    const right = tasks(kind).flatMap((task) => {
      const question = task.prompt.split("\n")[0] ?? "";
      const expression = /\d.*\d\)*/.exec(question)?.[0] ?? question;
      const quoted = /"([^"]*)"/.exec(question)?.[1] ?? question;
      return [
        task.prompt,
        question,
        expression,
        `#### ${expression}`,
        `#### ${quoted}`,
        `The answer is ${expression}.`,
      ]
        .filter((message) => judge(task.expected, message).correct)
        .map((message) => ({ task, message }));
    });
    expect(right).toEqual([]);
  });

  it("arithmetic: the answer is none of the question's numbers, and the expression's exact value", () => {
    for (const { prompt, expected } of tasks("arithmetic")) {
      const question = prompt.split("\n")[0] ?? "";
      expect(question.match(/\d+/g)).not.toContain(expected.replace("-", ""));
      const expression = /(?:is|Calculate|of) ([-+*/() \d]+)[?.]$/.exec(question)?.[1];
      if (expression !== undefined) {
        expect(calculate(expression)).toBe(expected);
      }
    }
  });

  it("arithmetic: a story's answer is a whole number and not negative", () => {
    const stories = tasks("arithmetic").filter((task) => task.prompt.includes("How many"));
    expect(stories.length).toBeGreaterThan(100);
    expect(stories.filter((task) => !/^\d+$/.test(task.expected))).toEqual([]);
  });

  it("strings: every maker is drawn", () => {
    const openings = new Set(tasks("strings").map((task) => task.prompt.split(" ", 1)[0]));
    expect(openings).toEqual(new Set(["Write", "How", "Which", "Put", "Remove"]));
  });

  it("strings: reversing, sorting and removing vowels are right, worked out another way", () => {
    let checked = 0;
    for (const { prompt, expected } of tasks("strings")) {
      const text = /"([^"]*)"/.exec(prompt)?.[1] ?? "";
      const kept = Array.from(text).filter((letter) => !"aeiou".includes(letter));
      if (prompt.includes("backwards")) {
        expect([...expected].map((_, at) => expected.charAt(expected.length - 1 - at)).join("")).toBe(text);
      } else if (prompt.startsWith("Put")) {
        const counts = (word: string): string =>
          [..."abcdefghijklmnopqrstuvwxyz"]
            .map((letter) => letter.repeat(word.split(letter).length - 1))
            .join("");
        expect(expected).toBe(counts(text));
      } else if (prompt.startsWith("Remove")) {
        expect(expected).toBe(kept.join(""));
      } else if (prompt.startsWith("How")) {
        const letter = /letter (\w) occur/.exec(prompt)?.[1] ?? "";
        expect(Number(expected)).toBe(text.split(letter).length - 1);
      } else if (prompt.startsWith("Which")) {
        const words = text.split(" ");
        const place = Number(/word (\d+)/.exec(prompt)?.[1]);
        expect(expected).toBe(
          prompt.includes("from the end") ? words[words.length - place] : words[place - 1],
        );
      } else {
        expect(expected).toBe(text.replace(/\w*(\w)\b ?/g, "$1"));
      }
      checked += 1;
    }
    expect(checked).toBe(SEEDS.length * 120);
  });

  it("has words whose tasks are never trivial", () => {
    expect(new Set(WORDS).size).toBe(WORDS.length);
    for (const word of WORDS) {
      expect(word).toMatch(/^[a-z]{5,8}$/);
      expect([...word].reverse().join("")).not.toBe(word);
      expect([...word].sort().join("")).not.toBe(word);
      expect(word.replace(/[aeiou]/g, "")).not.toBe(word);
      expect(word.replace(/[aeiou]/g, "")).not.toBe("");
    }
  });
});
