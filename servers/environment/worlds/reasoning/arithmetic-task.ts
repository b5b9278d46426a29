import type { RandomSource } from "../splitmix64.js";
import { evaluate } from "./calculator.js";
import { formatRational } from "./rational.js";
import type { Riddle } from "./riddle.js";
import { storyTask } from "./story-task.js";

/** One in this many tasks is told as a story. */
const STORY_SHARE = 3;

/**
 * An arithmetic task with as many operations as its difficulty: an expression to work out, or the same in
 * words. Its answer is exact, and it is none of the numbers in the question, so that copying one never pays.
 */
export function arithmeticTask(random: RandomSource, difficulty: number): Riddle {
  const told = random.integer(1, STORY_SHARE) === 1;
  // Each draw is independent, and most are kept.
  for (;;) {
    const riddle = told ? storyTask(random, difficulty) : expressionTask(random, difficulty);
    const numbers: readonly string[] = riddle.question.match(/\d+(?:\.\d+)?/g) ?? [];
    if (!numbers.includes(riddle.expected.replace("-", ""))) {
      return riddle;
    }
  }
}

function expressionTask(random: RandomSource, operations: number): Riddle {
  const expression = operations === 1 ? singleOperation(random) : strip(compound(random, operations));
  const question = random.pick([
    `What is ${expression}?`,
    `Calculate ${expression}.`,
    `Work out the exact value of ${expression}.`,
  ]);
  return { question, expected: formatRational(evaluate(expression)) };
}

/** A division has a common factor, so that the question is never a fraction in lowest terms: its own answer. */
function singleOperation(random: RandomSource): string {
  const factor = random.integer(2, 12);
  return random.pick([
    `${random.integer(12, 999)} + ${random.integer(12, 999)}`,
    `${random.integer(12, 999)} - ${random.integer(12, 999)}`,
    `${random.integer(3, 99)} * ${random.integer(3, 99)}`,
    `${factor * random.integer(3, 40)} / ${factor * random.integer(1, 5)}`,
  ]);
}

/** An expression of two or more operations; divisors are numbers, never 0. */
function compound(random: RandomSource, operations: number): string {
  if (operations === 0) {
    return `${random.integer(2, 40)}`;
  }
  const left = random.integer(0, operations - 1);
  const right = operations - 1 - left;
  const operator = random.pick(["+", "-", "*", "/"]);
  return operator === "/"
    ? `(${compound(random, operations - 1)} / ${random.integer(2, 12)})`
    : `(${compound(random, left)} ${operator} ${compound(random, right)})`;
}

/** The outermost parentheses say nothing. */
function strip(expression: string): string {
  return expression.slice(1, -1);
}
