import { type NumberAnswer, type UnreadableAnswer, unreadable } from "./answer-reading.js";
import {
  ALTERNATIVE,
  BOUND_AFTER,
  BOUND_BEFORE,
  DENIAL,
  POINTER,
  SPELLED_OUT_AFTER,
  SPELLED_OUT_BEFORE,
} from "./answer-words.js";
import { scanNumber } from "./number-token.js";
import { add, multiply, negate, type Rational, rational } from "./rational.js";

/** How freely a phrase may state its number. */
export type PhraseStyle =
  /** After a marker: a sentence around the number is fine, as in "Natalia sold 72 clips". */
  | "stated"
  /** A line without any marker: nothing but the number, with currency and unit. */
  | "bare";

/** Most words of a unit on a line without marker, as in "72 hair clips in total". */
const MAX_BARE_UNIT_WORDS = 5;

/** Where a number starts. */
export const FIRST_DIGIT = /[\d¼-¾⅐-⅞]|\.(?=\d)/u;
const CURRENCY = String.raw`(?:(?:US|AU|CA|NZ|HK|[ACR])?\$|[£€¥₹¢]|\b(?:USD|EUR|GBP|JPY|INR|CAD|AUD|Rs\.?)\s?)`;
/** Splits what precedes the digits into words, sign and currency; the sign may stand on either side. */
const BEFORE = new RegExp(`^(.*?)(?<![\\p{L}\\p{N}])([-+−–])?\\s?(${CURRENCY})?\\s?([-+−–])?\\s?$`, "su");
const LEAD_CHARACTERS = /^[\p{L}\s,:'’"“”~≈.()-]*$/u;
const BARE_LEAD = /^(?:[~≈]|about|approximately|approx\.?|around|roughly|exactly|just|only)?$/iu;
const UNIT_CHARACTERS = /^[\p{L}\s%°$€£¥₹¢'’"“”,:;.()/·²³–—-]*$/u;
/** Units that people write without a blank before them. */
const JOINED_UNIT =
  /^(?:k?m|cm|mm|k?g|mg|m?l|mL|L|hrs?|h|mins?|secs?|lbs?|oz|ft|in|yd|mi|mph|km\/h|m\/s|kWh|°[CF]?|[%$€£¥₹¢])[²³]?(?![\p{L}\p{N}])/u;
/** Signs that people put beside a result. */
const DECORATION = /\p{Extended_Pictographic}|\uFE0F|[\u2713\u25A1\u220E]/gu;
const SCALES: Readonly<Record<string, bigint>> = {
  hundred: 100n,
  thousand: 1_000n,
  million: 1_000_000n,
  billion: 1_000_000_000n,
  trillion: 1_000_000_000_000n,
};

/**
 * Reads a claim with exactly one number, which must hold one: words, sign and currency, the digits, a scale
 * and a unit.
 */
export function readQuantity(claim: string, style: PhraseStyle): NumberAnswer | UnreadableAnswer {
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
  const rest = claim.slice(token.end);
  if (/^\)/.test(rest) && !words.includes("(")) {
    return unreadable("malformed", "the number counts an item of a list");
  }
  const after = readAfter(rest, token.value, style);
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
