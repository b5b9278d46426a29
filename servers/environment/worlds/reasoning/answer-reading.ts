import { equals, type Rational } from "./rational.js";

/** Why no answer was read. */
export type UnreadableCode =
  /** The message holds nothing but white space. */
  | "empty"
  /** Nothing is marked as the answer, and there is no number either. */
  | "no_answer"
  /** There are numbers, but none of them is stated as the answer. */
  | "only_workings"
  /** Several candidates that differ. */
  | "several"
  /** The answer is denied: "not 72". */
  | "denied"
  /** Another answer follows the final one. */
  | "contradicted"
  /** A range or a bound: "at least 72". */
  | "bound"
  /** What is marked as the answer holds no number. */
  | "not_a_number"
  /** What is marked as the answer cannot be taken for one number or text. */
  | "malformed";

/** An exact number that was given as the answer. */
export interface NumberAnswer {
  readonly kind: "number";
  readonly value: Rational;
  /** The words it was read from, without markup. */
  readonly text: string;
  /** A currency sign, `%`, or the words after the number. It is told, never compared. */
  readonly unit?: string;
}

/** A text that was given as the answer, without markup and quotes. */
export interface TextAnswer {
  readonly kind: "text";
  readonly value: string;
}

/** No answer can be read. */
export interface UnreadableAnswer {
  readonly kind: "unreadable";
  readonly code: UnreadableCode;
  /** The same for people, as a half sentence. */
  readonly reason: string;
}

/** What a message gives as its final answer. */
export type FinalAnswer = NumberAnswer | TextAnswer | UnreadableAnswer;

/** An {@link UnreadableAnswer}. */
export function unreadable(code: UnreadableCode, reason: string): UnreadableAnswer {
  return { kind: "unreadable", code, reason };
}

/** Whether both give the same answer; two that cannot be read never do. */
export function sameAnswer(a: FinalAnswer, b: FinalAnswer): boolean {
  if (a.kind === "number" && b.kind === "number") {
    return equals(a.value, b.value);
  }
  return a.kind === "text" && b.kind === "text" && a.value === b.value;
}
