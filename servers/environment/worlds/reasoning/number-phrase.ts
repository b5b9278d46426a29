import { type NumberAnswer, type UnreadableAnswer, unreadable } from "./answer-reading.js";
import { SECOND_THOUGHT } from "./answer-words.js";
import { evaluateLoosely, readEquation } from "./equation.js";
import { stripLatex } from "./plain-text.js";
import { FIRST_DIGIT, type PhraseStyle, readQuantity } from "./quantity.js";
import { equals } from "./rational.js";

const POWER_OF_LENGTH =
  /(?<!\p{L})(k?m|cm|mm|ft|in|yd|mi|units?|met(?:er|re)s?|feet|inch(?:es)?|yards?|miles?)\^?([23])(?![\p{L}\p{N}])/gu;
/**
 * A bracket that is no operand, an approximation of the exact value before it, a word that opens a reason, or
 * a preposition after a unit, as in "72 clips in 2 months", unless an equation goes on.
 */
const EXPLANATION =
  /(?<![-+*/×÷·=−]\s*)\s*\(|\s≈|,?\s(?:because|since|as|which|so|given|that is)\b|(?<=\p{L})\s(?:in|for|over|after|during|within|on|at|with|per|every|from)\b(?!.*=)/u;
/** A sentence that ends before the number; the full stop of an abbreviation does not end one. */
const SENTENCE_BEFORE = /(?<!\b(?:approx|Rs|No|Mr|Mrs|Ms|Dr|St))[.!?]\s/u;
/**
 * Reads the one number that a phrase gives as its answer.
 *
 * - `50%` is the number 50 with the unit `%`, never 1/2: one text has one value, and the published data sets
 *   write percentages as bare numbers.
 * - A comma groups thousands, as in `1,234`; it is never a decimal comma.
 * - An equation such as `48 + 24 = 72` counts when it holds exactly; then its plain side is the answer.
 * - Words of scale multiply (`1.5 million`); other units are told and not compared.
 */
export function readNumberPhrase(markup: string, style: PhraseStyle): NumberAnswer | UnreadableAnswer {
  const phrase = stripQuotes(stripLatex(markup))
    .replace(/^(?:[\s:#*→]|=>?)+/u, "")
    .replace(POWER_OF_LENGTH, (_, length: string, power: string) => `${length}${power === "2" ? "²" : "³"}`);
  const start = phrase.search(FIRST_DIGIT);
  if (start < 0 || SENTENCE_BEFORE.test(phrase.slice(0, start))) {
    return unreadable("not_a_number", "what is given as the answer holds no number");
  }
  if (phrase.includes("\\")) {
    return unreadable("malformed", "what is given as the answer holds a LaTeX command that is not read");
  }
  const sentence = firstSentence(phrase, start);
  if (sentence.endsWith("?")) {
    return unreadable("malformed", "what is given as the answer is a question");
  }
  const { claim, explanation } = splitExplanation(sentence, start);
  const answer = claim.includes("=") ? readEquation(claim, style) : readQuantity(claim, style);
  if (answer.kind === "unreadable" || explanation === "") {
    return answer;
  }
  return style === "bare"
    ? unreadable("only_workings", "the last line holds more than an answer")
    : checkExplanation(answer, explanation);
}

/** Cuts after the sentence with the first number; a full stop inside a number does not end it. */
function firstSentence(phrase: string, start: number): string {
  const end = phrase.slice(start).search(/[.!](?![\d.…])(?<![.…].)|\n|(?<=\?)/u);
  return end < 0 ? phrase : phrase.slice(0, start + end);
}

/** Parts the answer from an explanation with numbers of its own; one without numbers is part of the unit. */
function splitExplanation(sentence: string, start: number): { claim: string; explanation: string } {
  const at = sentence.slice(start).search(EXPLANATION);
  return at < 0 || !FIRST_DIGIT.test(sentence.slice(start + at))
    ? { claim: sentence, explanation: "" }
    : { claim: sentence.slice(0, start + at), explanation: sentence.slice(start + at) };
}

/** An explanation may hold numbers, but no other candidate. */
function checkExplanation(answer: NumberAnswer, explanation: string): NumberAnswer | UnreadableAnswer {
  if (SECOND_THOUGHT.test(explanation) && /\d/.test(explanation)) {
    return unreadable("several", "the explanation beside the answer names another candidate");
  }
  const bracketed = /^\s*\(([^()\p{L}]*(?:\([^()]*\)[^()\p{L}]*)*)\)/u.exec(explanation)?.[1];
  const other = bracketed === undefined ? undefined : evaluateLoosely(bracketed.replace(/^\s*=/, ""));
  if (other !== undefined && !equals(other, answer.value)) {
    return unreadable("several", "another number stands in brackets beside the answer");
  }
  return answer;
}

/** Removes quotation marks at the edges of words; a mark between digits stays and spoils the number. */
function stripQuotes(text: string): string {
  return text.replace(/(?<![\p{L}\p{N}])["“”'‘]+|["“”'’]+(?=\s|$|[.,;:!?)])/gu, "");
}
