import type { RandomSource } from "../splitmix64.js";
import type { Riddle } from "./riddle.js";
import { WORDS } from "./words.js";

/**
 * A task about the letters or words of a text, with one answer. The text grows with the difficulty: one word,
 * or that many words more in a list.
 */
export function stringTask(random: RandomSource, difficulty: number): Riddle {
  return random.pick(MAKERS)(random, difficulty);
}

const MAKERS: readonly [Maker, ...Maker[]] = [
  reverse,
  countLetter,
  nthWord,
  sortLetters,
  withoutVowels,
  lastLetters,
];
type Maker = (random: RandomSource, difficulty: number) => Riddle;

function reverse(random: RandomSource, difficulty: number): Riddle {
  const text = compound(random, difficulty);
  return { question: `Write "${text}" backwards, letter by letter.`, expected: [...text].reverse().join("") };
}

function countLetter(random: RandomSource, difficulty: number): Riddle {
  const words = list(random, 1 + difficulty);
  const letters = [...words.join("")];
  const letter = letters[random.integer(0, letters.length - 1)] ?? "e";
  const count = letters.filter((other) => other === letter).length;
  return {
    question: `How often does the letter ${letter} occur in "${words.join(" ")}"? Answer with a number.`,
    expected: `${count}`,
  };
}

function nthWord(random: RandomSource, difficulty: number): Riddle {
  const words = list(random, 4 + 2 * difficulty);
  const place = random.integer(2, words.length - 1);
  const fromEnd = random.integer(0, 1) === 1;
  const expected = (fromEnd ? words.at(-place) : words[place - 1]) ?? "";
  const where = fromEnd ? "from the end, counting the last word as word 1" : "from the start";
  return { question: `Which is word ${place} ${where}, in "${words.join(" ")}"?`, expected };
}

function sortLetters(random: RandomSource, difficulty: number): Riddle {
  const text = compound(random, difficulty);
  return {
    question: `Put the letters of "${text}" in alphabetical order, each as often as it occurs and without blanks.`,
    expected: [...text].sort().join(""),
  };
}

function withoutVowels(random: RandomSource, difficulty: number): Riddle {
  const text = compound(random, difficulty);
  return {
    question: `Remove every a, e, i, o and u from "${text}" and write what is left, in order and without blanks.`,
    expected: text.replace(/[aeiou]/g, ""),
  };
}

function lastLetters(random: RandomSource, difficulty: number): Riddle {
  const words = list(random, 2 + difficulty);
  return {
    question: `Write the last letters of these words as one string, in order: "${words.join(" ")}".`,
    expected: words.map((word) => word.slice(-1)).join(""),
  };
}

/** One word, or two run together from difficulty 3 on, or three at 5. */
function compound(random: RandomSource, difficulty: number): string {
  return list(random, Math.ceil(difficulty / 2)).join("");
}

function list(random: RandomSource, length: number): string[] {
  return Array.from({ length }, () => random.pick(WORDS));
}
