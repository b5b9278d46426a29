import { add, fromDecimal, greatestCommonDivisor, type Rational, rational } from "./rational.js";

/** Most digits that one number may have, and the largest exponent: what nobody writes by hand is not read. */
const MAX_DIGITS = 400;

/** The outcome of reading one number at a place in a text. */
export type NumberToken =
  | {
      readonly ok: true;
      readonly value: Rational;
      /** Index of the first character after the number. */
      readonly end: number;
    }
  | {
      readonly ok: false;
      /** Why there is no number to read, as a half sentence. */
      readonly reason: string;
    };

// Digits, alone or in groups of three parted by commas, underscores or the thin and hard spaces.
const WHOLE = String.raw`(?:\d{1,3}(?:,\d{3})+|\d{1,3}(?:_\d{3})+|\d{1,3}(?:[\u2009\u202F\u00A0]\d{3})+|\d+)(?!\d)`;
const SLASH = String.raw`\s?[/\u2044\u2215]\s?`;
const MIXED = new RegExp(String.raw`(\d+)\s(\d+)${SLASH}(\d+)(?![\d,])`, "y");
const FRACTION = new RegExp(`(${WHOLE})${SLASH}(${WHOLE})`, "y");
const VULGAR = /(\d+)?\s?([¼-¾⅐-⅒⅓-⅞])/y;
const DECIMAL = new RegExp(`(${WHOLE})?(?:\\.(\\d+))?`, "y");
const EXPONENT =
  /[eE]([+-]?\d+)(?!\w|\.\d)|\s?[x×*·]\s?10(?:\s?\^\s?(?:\(([+-]?\d+)\)|([+-]?\d+))|([⁺⁻]?[⁰¹²³⁴-⁹]+))/y;

const VULGAR_VALUES: Readonly<Record<string, readonly [bigint, bigint]>> = {
  "¼": [1n, 4n],
  "½": [1n, 2n],
  "¾": [3n, 4n],
  "⅐": [1n, 7n],
  "⅑": [1n, 9n],
  "⅒": [1n, 10n],
  "⅓": [1n, 3n],
  "⅔": [2n, 3n],
  "⅕": [1n, 5n],
  "⅖": [2n, 5n],
  "⅗": [3n, 5n],
  "⅘": [4n, 5n],
  "⅙": [1n, 6n],
  "⅚": [5n, 6n],
  "⅛": [1n, 8n],
  "⅜": [3n, 8n],
  "⅝": [5n, 8n],
  "⅞": [7n, 8n],
};
const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/**
 * Reads the unsigned number that starts at `at`: `72`, `1,234.50`, `.5`, `1e2`, `1.5 × 10^3`, `1/2`, `3 1/2`,
 * `3½`.
 *
 * A fraction must be in lowest terms: `144/2` is the question written again, not its answer. A number that is
 * part of something longer (a date, a time, a range, an identifier, digits grouped otherwise than by three)
 * is not a number.
 */
export function scanNumber(text: string, at: number): NumberToken {
  const token =
    scanFraction(text, at, MIXED, 3) ??
    scanFraction(text, at, FRACTION, 2) ??
    scanVulgar(text, at) ??
    scanDecimal(text, at);
  if (!token.ok) {
    return token;
  }
  const rest = text.slice(token.end, token.end + 3);
  if (/^(?:[.,_:'’–—/\u2044-]\d|\d|[.…]{2}|…)/u.test(rest)) {
    return refuse("the number is part of something longer, such as a date, a range or an unfinished decimal");
  }
  return token;
}

function scanFraction(text: string, at: number, pattern: RegExp, groups: 2 | 3): NumberToken | undefined {
  const match = matchAt(pattern, text, at);
  if (match === undefined) {
    return undefined;
  }
  const parts = match.slice(-groups).map((digits) => digits?.replace(/\D/g, "") ?? "");
  if (parts.some((digits) => digits.length > MAX_DIGITS)) {
    return refuse("the number has too many digits");
  }
  const [denominator = 0n, numerator = 0n, whole = 0n] = parts.map(BigInt).reverse();
  if (denominator === 0n) {
    return refuse("the fraction's denominator is 0");
  }
  const proper = groups === 2 || (numerator > 0n && numerator < denominator);
  if (!proper || denominator === 1n || greatestCommonDivisor(numerator, denominator) !== 1n) {
    return refuse("the fraction is not in lowest terms: a division still to be done is not an answer");
  }
  return accept(add(rational(whole), rational(numerator, denominator)), at + match[0].length);
}

function scanVulgar(text: string, at: number): NumberToken | undefined {
  const match = matchAt(VULGAR, text, at);
  const [numerator, denominator] = VULGAR_VALUES[match?.[2] ?? ""] ?? [];
  if (match === undefined || numerator === undefined || denominator === undefined) {
    return undefined;
  }
  const whole = match[1] ?? "0";
  if (whole.length > MAX_DIGITS) {
    return refuse("the number has too many digits");
  }
  return accept(add(rational(BigInt(whole)), rational(numerator, denominator)), at + match[0].length);
}

function scanDecimal(text: string, at: number): NumberToken {
  const match = matchAt(DECIMAL, text, at);
  const whole = match?.[1]?.replace(/\D/g, "") ?? "";
  const decimals = match?.[2] ?? "";
  if (match === undefined || whole + decimals === "") {
    return refuse("there is no number");
  }
  const end = at + match[0].length;
  const power = matchAt(EXPONENT, text, end);
  const exponent = Number(power?.[1] ?? power?.[2] ?? power?.[3] ?? plainDigits(power?.[4] ?? "0"));
  if (whole.length + decimals.length > MAX_DIGITS || Math.abs(exponent) > MAX_DIGITS) {
    return refuse("the number has too many digits");
  }
  return accept(fromDecimal(whole + decimals, decimals.length, exponent), end + (power?.[0].length ?? 0));
}

function plainDigits(superscripts: string): string {
  return superscripts
    .replace("⁻", "-")
    .replace("⁺", "+")
    .replace(/[⁰¹²³⁴-⁹]/g, (digit) => `${SUPERSCRIPTS.indexOf(digit)}`);
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text) ?? undefined;
}

function accept(value: Rational, end: number): NumberToken {
  return { ok: true, value, end };
}

function refuse(reason: string): NumberToken {
  return { ok: false, reason };
}
