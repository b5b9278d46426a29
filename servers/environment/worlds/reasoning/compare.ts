import type { NumberAnswer, TextAnswer } from "./answer-reading.js";
import { readFinalAnswer } from "./final-answer.js";
import { readNumberPhrase } from "./number-phrase.js";
import { equals, formatRational } from "./rational.js";
import { textAnswer } from "./text-phrase.js";

/** The judgement of one message. */
export interface Judgement {
  readonly correct: boolean;
  /** Why, for people. It never holds the expected answer, so it may be shown to anybody. */
  readonly reason: string;
  /** The answer that was read; absent when none could be. */
  readonly read?: string;
}

/** How answers are compared. */
export interface JudgeOptions {
  /** Whether `Olleh` equals `olleh`. Default false. Numbers have no case. */
  readonly foldCase?: boolean;
}

/** The expected answer cannot be compared with anything: the task is broken, not the message. */
export class ExpectedAnswerError extends Error {
  override readonly name = "ExpectedAnswerError";
}

/**
 * Judges whether a message gives the expected answer as its final answer ({@link readFinalAnswer}).
 *
 * Numbers are compared exactly as rationals: `1,234.50` equals `1234.5`, `0.333` is not `1/3`. Units and
 * currencies are not compared. Texts are compared without markup, quotes and surrounding blanks.
 *
 * A message without a readable answer is judged wrong with the reason; it is never a failure (ENV-VRFY-007).
 *
 * @param expected a number as people write it, else a text.
 * @throws ExpectedAnswerError when `expected` is empty.
 */
export function judge(expected: string, message: string, options: JudgeOptions = {}): Judgement {
  const wanted = readExpected(expected);
  const answer = readFinalAnswer(message, wanted.kind);
  switch (answer.kind) {
    case "unreadable":
      return { correct: false, reason: `no final answer could be read: ${answer.reason}` };
    case "number":
      return verdict(
        formatRational(answer.value),
        wanted.kind === "number" && equals(answer.value, wanted.value),
      );
    case "text": {
      const fold = (value: string): string => (options.foldCase === true ? value.toLowerCase() : value);
      return verdict(answer.value, wanted.kind === "text" && fold(answer.value) === fold(wanted.value));
    }
  }
}

function verdict(read: string, correct: boolean): Judgement {
  const reason = `read ${JSON.stringify(read)}, ${correct ? "the expected answer" : "another answer than expected"}`;
  return { correct, reason, read };
}

function readExpected(expected: string): NumberAnswer | TextAnswer {
  const number = readNumberPhrase(expected, "bare");
  if (number.kind === "number") {
    return number;
  }
  const text = textAnswer(expected);
  if (text.value === "") {
    throw new ExpectedAnswerError(
      "expected a number or a text as the task's answer, found an empty one; correct the task",
    );
  }
  return text;
}
