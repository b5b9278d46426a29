import { type NumberAnswer, type UnreadableAnswer, unreadable } from "./answer-reading.js";
import { ALTERNATIVE, DENIAL } from "./answer-words.js";
import { evaluate } from "./calculator.js";
import { FIRST_DIGIT, type PhraseStyle, readQuantity } from "./quantity.js";
import { equals, type Rational } from "./rational.js";

const OPERATOR = /[-+*/×÷·−]|\d\s?x\s?\d/u;
const OPERATION_IN_WORDS = /%|\bof\b/u;

/**
 * Reads an equation such as `label = 48 + 24 = 72`: every side with a number must have the same value, and one
 * must be plain, which is the answer. On a line without marker only `x = 72` is an answer alone.
 */
export function readEquation(claim: string, style: PhraseStyle): NumberAnswer | UnreadableAnswer {
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
    const value =
      reading?.kind === "number" ? reading.value : OPERATOR.test(side) ? evaluateLoosely(side) : undefined;
    const agrees = value === undefined ? isWorking(side) : equals(value, answer.value);
    if (!agrees) {
      return unreadable("several", "the sides of the equation are not equal");
    }
  }
  return answer;
}

/** A calculation in words, such as "half of 144": it cannot be checked, but it is no second candidate either. */
function isWorking(side: string): boolean {
  return (
    (OPERATOR.test(side) || OPERATION_IN_WORDS.test(side)) && !ALTERNATIVE.test(side) && !DENIAL.test(side)
  );
}

/** The exact value of a calculation between units, as in "9 eggs * $2"; absent when it is none. */
export function evaluateLoosely(side: string): Rational | undefined {
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
