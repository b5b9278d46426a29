import { add, divide, formatRational, fromDecimal, multiply, negate, type Rational } from "./rational.js";

/** Longest expression that is read, in UTF-16 code units. */
export const MAX_EXPRESSION_LENGTH = 1_000;
/** Deepest nesting of parentheses and signs. */
export const MAX_EXPRESSION_DEPTH = 50;
/** Most digits of one number in an expression, and of the numerator and denominator of each result. */
export const MAX_DIGITS = 200;

/** An expression that the calculator does not take. The message names position, expectation and finding. */
export class CalculatorError extends Error {
  override readonly name = "CalculatorError";
  /** Where it went wrong: the 1-based position of a UTF-16 code unit in the expression. */
  readonly position: number;

  constructor(position: number, message: string) {
    super(`position ${position}: ${message}`);
    this.position = position;
  }
}

/**
 * Works an expression out exactly: numbers such as `12`, `0.5` or `.5`, the operators `+ - * /` (also
 * `− × ÷`), signs and parentheses, with the usual precedence.
 *
 * The work is bounded by the limits above, which hold for each result on the way too.
 *
 * @returns the value as {@link formatRational} writes it: `72`, `0.5`, `1/3`.
 * @throws CalculatorError for everything else: a name, `**`, a percent sign, an empty text, a division by
 * zero, something too long, too deep or too large.
 */
export function calculate(expression: string): string {
  return formatRational(evaluate(expression));
}

/** As {@link calculate}, but answers the number itself. */
export function evaluate(expression: string): Rational {
  if (expression.length > MAX_EXPRESSION_LENGTH) {
    throw new CalculatorError(
      MAX_EXPRESSION_LENGTH + 1,
      `expected at most ${MAX_EXPRESSION_LENGTH} characters, found ${expression.length}; split the calculation`,
    );
  }
  const cursor: Cursor = { expression, at: 0, depth: 0 };
  const value = readSum(cursor);
  if (peek(cursor) !== undefined) {
    throw unexpected(cursor, "an operator + - * / or the end");
  }
  return value;
}

interface Cursor {
  readonly expression: string;
  at: number;
  depth: number;
}

function readSum(cursor: Cursor): Rational {
  let value = readProduct(cursor);
  for (;;) {
    if (take(cursor, "+")) {
      value = bounded(cursor, add(value, readProduct(cursor)));
    } else if (take(cursor, "-", "−")) {
      value = bounded(cursor, add(value, negate(readProduct(cursor))));
    } else {
      return value;
    }
  }
}

function readProduct(cursor: Cursor): Rational {
  let value = readSigned(cursor);
  for (;;) {
    if (take(cursor, "*", "×")) {
      value = bounded(cursor, multiply(value, readSigned(cursor)));
    } else if (take(cursor, "/", "÷")) {
      peek(cursor);
      const position = cursor.at + 1;
      const divisor = readSigned(cursor);
      if (divisor.numerator === 0n) {
        throw new CalculatorError(
          position,
          "expected a divisor other than 0, found 0; nothing divides by zero",
        );
      }
      value = bounded(cursor, divide(value, divisor));
    } else {
      return value;
    }
  }
}

function readSigned(cursor: Cursor): Rational {
  if (take(cursor, "-", "−")) {
    return deeper(cursor, () => negate(readSigned(cursor)));
  }
  if (take(cursor, "+")) {
    return deeper(cursor, () => readSigned(cursor));
  }
  if (take(cursor, "(")) {
    const value = deeper(cursor, () => readSum(cursor));
    if (!take(cursor, ")")) {
      throw unexpected(cursor, "an operator + - * / or a closing parenthesis");
    }
    return value;
  }
  return readNumber(cursor);
}

function readNumber(cursor: Cursor): Rational {
  peek(cursor);
  const pattern = /(\d*)(?:\.(\d+))?/y;
  pattern.lastIndex = cursor.at;
  const [text = "", whole = "", decimals = ""] = pattern.exec(cursor.expression) ?? [];
  if (text === "") {
    throw unexpected(cursor, "a number, a sign or an opening parenthesis");
  }
  const digits = whole + decimals;
  if (digits.length > MAX_DIGITS) {
    throw new CalculatorError(
      cursor.at + 1,
      `expected a number of at most ${MAX_DIGITS} digits, found ${digits.length}; calculate with smaller numbers`,
    );
  }
  cursor.at += text.length;
  return fromDecimal(digits, decimals.length);
}

function deeper(cursor: Cursor, read: () => Rational): Rational {
  if (cursor.depth >= MAX_EXPRESSION_DEPTH) {
    throw new CalculatorError(
      cursor.at,
      `expected at most ${MAX_EXPRESSION_DEPTH} nested signs and parentheses, found more; split the calculation`,
    );
  }
  cursor.depth += 1;
  const value = read();
  cursor.depth -= 1;
  return value;
}

/** The next character that is not blank; the cursor then stands on it. */
function peek(cursor: Cursor): string | undefined {
  while (/\s/.test(cursor.expression.charAt(cursor.at))) {
    cursor.at += 1;
  }
  const code = cursor.expression.codePointAt(cursor.at);
  return code === undefined ? undefined : String.fromCodePoint(code);
}

function take(cursor: Cursor, ...symbols: readonly string[]): boolean {
  const next = peek(cursor);
  if (next === undefined || !symbols.includes(next)) {
    return false;
  }
  cursor.at += 1;
  return true;
}

function unexpected(cursor: Cursor, expected: string): CalculatorError {
  const next = peek(cursor);
  const found = next === undefined ? "the end" : JSON.stringify(next);
  return new CalculatorError(cursor.at + 1, `expected ${expected}, found ${found}; ${hint(next)}`);
}

function hint(found: string | undefined): string {
  switch (found) {
    case undefined:
      return "complete the expression";
    case "%":
      return "write a percentage as a division by 100";
    case ",":
    case "_":
      return "write numbers without thousands separators";
    case "*":
    case "^":
      return "write a power as a product";
    default:
      return "only numbers, + - * / and parentheses are known";
  }
}

/** Every result is checked as it arises, so that no chain of fractions grows out of hand. */
function bounded(cursor: Cursor, value: Rational): Rational {
  if (digitsOf(value.numerator) > MAX_DIGITS || digitsOf(value.denominator) > MAX_DIGITS) {
    throw new CalculatorError(
      cursor.at,
      `expected results of at most ${MAX_DIGITS} digits, found a larger one; calculate with smaller numbers`,
    );
  }
  return value;
}

function digitsOf(value: bigint): number {
  return value.toString().length - (value < 0n ? 1 : 0);
}
