import { type NumberAnswer, type UnreadableAnswer, unreadable } from "./answer-reading.js";
import {
  ALTERNATIVE,
  BOUND_AFTER,
  BOUND_BEFORE,
  DENIAL,
  POINTER,
  SECOND_THOUGHT,
  SPELLED_OUT_AFTER,
  SPELLED_OUT_BEFORE,
} from "./answer-words.js";
import { evaluate } from "./calculator.js";
import { scanNumber } from "./number-token.js";
import { stripLatex } from "./plain-text.js";
import { add, equals, multiply, negate, type Rational, rational } from "./rational.js";

/** How freely a phrase may state its number. */
export type PhraseStyle =
  /** After a marker: a sentence around the number is fine, as in "Natalia sold 72 clips". */
  | "stated"
  /** A line without any marker: nothing but the number, with currency and unit. */
  | "bare";

/** Most words of a unit on a line without marker, as in "72 hair clips in total". */
const MAX_BARE_UNIT_WORDS = 5;

const FIRST_DIGIT = /[\d¼-¾⅐-⅞]|\.(?=\d)/u;
const CURRENCY = String.raw`(?:(?:US|AU|CA|NZ|HK|[ACR])?\$|[£€¥₹¢]|\b(?:USD|EUR|GBP|JPY|INR|CAD|AUD|Rs\.?)\s?)`;
/** Splits what precedes the digits into words, sign and currency; the sign may stand on either side. */
const BEFORE = new RegExp(`^(.*?)(?<![\\p{L}\\p{N}])([-+−–])?\\s?(${CURRENCY})?\\s?([-+−–])?\\s?$`, "su");
const LEAD_CHARACTERS = /^[\p{L}\s,:'’"“”~≈.()-]*$/u;
const BARE_LEAD = /^(?:[~≈]|about|approximately|approx\.?|around|roughly|exactly|just|only)?$/iu;
const UNIT_CHARACTERS = /^[\p{L}\s%°$€£¥₹¢'’"“”,:;.()/·²³–—-]*$/u;
/** Units that people write without a blank before them. */
const JOINED_UNIT =
  /^(?:k?m|cm|mm|k?g|mg|m?l|mL|L|hrs?|h|mins?|secs?|lbs?|oz|ft|in|yd|mi|mph|km\/h|m\/s|kWh|°[CF]?|[%$€£¥₹¢])[²³]?(?![\p{L}\p{N}])/u;
const POWER_OF_LENGTH =
  /(?<!\p{L})(k?m|cm|mm|ft|in|yd|mi|units?|met(?:er|re)s?|feet|inch(?:es)?|yards?|miles?)\^?([23])(?![\p{L}\p{N}])/gu;
/** Signs that people put beside a result. */
const DECORATION = /\p{Extended_Pictographic}|\uFE0F|[\u2713\u25A1\u220E]/gu;
const SCALES: Readonly<Record<string, bigint>> = {
  hundred: 100n,
  thousand: 1_000n,
  million: 1_000_000n,
  billion: 1_000_000_000n,
  trillion: 1_000_000_000_000n,
};
/** A bracket that is no operand, or a word that opens a reason. */
const EXPLANATION = /(?<![-+*/×÷·=−]\s*)\s*\(|,?\s(?:because|since|as|which|so|given|that is)\b/u;
const OPERATION = /[-+*/×÷·−%]|\bof\b/u;

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
  if (start < 0) {
    return unreadable("not_a_number", "what is given as the answer holds no number");
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
  return style === "bare" ? readBareExplanation(answer, explanation) : checkExplanation(answer, explanation);
}

/** Cuts after the sentence with the first number; a full stop inside a number does not end it. */
function firstSentence(phrase: string, start: number): string {
  const end = phrase.slice(start).search(/[.!](?![\d.…])(?<![.…].)|\n|(?<=\?)/u);
  return end < 0 ? phrase : phrase.slice(0, start + end);
}

function splitExplanation(sentence: string, start: number): { claim: string; explanation: string } {
  const at = sentence.slice(start).search(EXPLANATION);
  return at < 0
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

function readBareExplanation(answer: NumberAnswer, explanation: string): NumberAnswer | UnreadableAnswer {
  return /^\s*\(\p{L}[\p{L}\s]*\)\s*$/u.test(explanation)
    ? answer
    : unreadable("only_workings", "the last line holds more than an answer");
}

/** `label = 48 + 24 = 72`: every side with a number must have the same value, and one must be plain. */
function readEquation(claim: string, style: PhraseStyle): NumberAnswer | UnreadableAnswer {
  const sides = claim.split(/=+/u).filter((side) => side.trim() !== "");
  const numeric = sides.filter((side) => FIRST_DIGIT.test(side));
  const labels = sides.filter((side) => !FIRST_DIGIT.test(side));
  if (style === "bare" && (numeric.length > 1 || labels.some((label) => !/^\s*\p{L}\s*$/u.test(label)))) {
    return unreadable("only_workings", "the last line is a calculation, not an answer alone");
  }
  if (labels.some((label) => DENIAL.test(label) || ALTERNATIVE.test(label))) {
    return unreadable("denied", "the equation's words deny the answer or offer others");
  }
  const readings = numeric.map((side) => readQuantity(side, style));
  const answer = readings.findLast((reading) => reading.kind === "number");
  if (answer === undefined) {
    return readings.at(-1) ?? unreadable("malformed", "the equation has no number");
  }
  for (const [index, side] of numeric.entries()) {
    const reading = readings[index];
    const value = reading?.kind === "number" ? reading.value : evaluateLoosely(side);
    const agrees = value === undefined ? isWorking(side) : equals(value, answer.value);
    if (!agrees) {
      return unreadable("several", "the sides of the equation are not equal");
    }
  }
  return answer;
}

/** A calculation in words, as in "20% of 360": it cannot be checked, but it is no second candidate either. */
function isWorking(side: string): boolean {
  return OPERATION.test(side) && !ALTERNATIVE.test(side) && !DENIAL.test(side);
}

/** The exact value of a calculation between units, as in "9 eggs * $2". */
function evaluateLoosely(side: string): Rational | undefined {
  const bare = side
    .replace(/(?<=\d),(?=\d{3}(?!\d))/g, "")
    .replace(/·/g, "*")
    .replace(/(?<=\d\s?)x(?=\s?\d)/g, "*");
  try {
    return evaluate(bare.replace(/[\p{L}$€£¥₹¢"'’]+/gu, " "));
  } catch {
    return undefined;
  }
}

function readQuantity(claim: string, style: PhraseStyle): NumberAnswer | UnreadableAnswer {
  const start = claim.search(FIRST_DIGIT);
  const before = BEFORE.exec(claim.slice(0, start));
  const [, words = "", sign = "", currency = "", innerSign = ""] = before ?? [];
  const joined = before === null || /[^\s:(~≈]$/u.test(words);
  const problem = problemBefore(words.trim(), style) ?? (joined ? insideWord() : undefined);
  if (problem !== undefined) {
    return problem;
  }
  if (sign !== "" && innerSign !== "") {
    return unreadable("malformed", "the number has two signs");
  }
  const token = scanNumber(claim, start);
  if (!token.ok) {
    return unreadable("malformed", token.reason);
  }
  const after = readAfter(claim.slice(token.end), token.value, style);
  if ("kind" in after) {
    return after;
  }
  const negative = /[-−–]/u.test(sign + innerSign);
  const unit = currency.trim() || after.unit;
  return {
    kind: "number",
    value: negative ? negate(after.value) : after.value,
    text: claim.slice(words.length).trim(),
    ...(unit === "" ? {} : { unit }),
  };
}

function insideWord(): UnreadableAnswer {
  return unreadable("malformed", "the number is part of a word or identifier");
}

function problemBefore(words: string, style: PhraseStyle): UnreadableAnswer | undefined {
  if (DENIAL.test(words)) {
    return unreadable("denied", "the number is denied");
  }
  if (ALTERNATIVE.test(words)) {
    return unreadable("several", "several candidates are offered");
  }
  if (BOUND_BEFORE.test(words)) {
    return unreadable("bound", "a bound or range is given, not a number");
  }
  if (style === "bare" && !BARE_LEAD.test(words)) {
    return unreadable("only_workings", "the last line holds more than an answer");
  }
  if (POINTER.test(words)) {
    return unreadable("malformed", "the number names a step, line or the like");
  }
  if (!LEAD_CHARACTERS.test(words) || SPELLED_OUT_BEFORE.test(words)) {
    return unreadable("malformed", "the words before the number are not read");
  }
  return undefined;
}

/** What follows the digits: a scale, "and a half", a unit. */
function readAfter(
  rest: string,
  number: Rational,
  style: PhraseStyle,
): { value: Rational; unit: string } | UnreadableAnswer {
  let value = number;
  let unit = rest;
  const half = /^\s+and\s+(?:a|one)[\s-]half\b/iu.exec(unit);
  if (half !== null && value.denominator === 1n) {
    value = add(value, rational(1n, 2n));
    unit = unit.slice(half[0].length);
  }
  const scale = /^\s+([a-z]+)(?!-)/iu.exec(unit);
  const factor = SCALES[scale?.[1]?.toLowerCase() ?? ""];
  if (scale !== null && factor !== undefined) {
    value = multiply(value, rational(factor));
    unit = unit.slice(scale[0].length);
  }
  return problemAfter(unit, style) ?? { value, unit: nameOfUnit(unit) };
}

function problemAfter(unit: string, style: PhraseStyle): UnreadableAnswer | undefined {
  if (FIRST_DIGIT.test(unit)) {
    return unreadable("several", "what is given as the answer holds several numbers");
  }
  if (/^\p{L}/u.test(unit) && !JOINED_UNIT.test(unit)) {
    return insideWord();
  }
  if (ALTERNATIVE.test(unit)) {
    return unreadable("several", "several candidates are offered");
  }
  if (DENIAL.test(unit)) {
    return unreadable("denied", "the number is denied");
  }
  if (BOUND_AFTER.test(unit)) {
    return unreadable("bound", "a bound or range is given, not a number");
  }
  if (SPELLED_OUT_AFTER.test(unit) || !UNIT_CHARACTERS.test(unit.replace(DECORATION, ""))) {
    return unreadable("malformed", "what follows the number is not a unit");
  }
  if (style === "bare" && (unit.trim().match(/\S+/gu)?.length ?? 0) > MAX_BARE_UNIT_WORDS) {
    return unreadable("only_workings", "the last line holds more than an answer");
  }
  return undefined;
}

function nameOfUnit(unit: string): string {
  const name =
    unit
      .split(/[,:;.(–—]/u)[0]
      ?.replace(DECORATION, "")
      .replace(/["“”]/gu, "")
      .trim() ?? "";
  return /^per\s?cent\b/iu.test(name) ? "%" : name;
}

/** Removes quotation marks at the edges of words; a mark between digits stays and spoils the number. */
function stripQuotes(text: string): string {
  return text.replace(/(?<![\p{L}\p{N}])["“”'‘]+|["“”'’]+(?=\s|$|[.,;:!?)])/gu, "");
}
