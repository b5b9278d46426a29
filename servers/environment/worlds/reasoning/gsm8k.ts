import { scanNumber } from "./number-token.js";
import { negate, type Rational } from "./rational.js";

/** A row of GSM8K, read. */
export interface Gsm8kRow {
  readonly question: string;
  /** The final answer as the row writes it, such as `2,125`; what `judge` takes as expected. */
  readonly expected: string;
  /** The same as an exact number. */
  readonly value: Rational;
  /** What the row's answer says before its `####`. */
  readonly workings: string;
}

/** A row that is not one of the published schema. */
export class RowError extends Error {
  override readonly name = "RowError";
  /** Path of the bad field inside the row, such as `answer`; empty for the row itself. */
  readonly path: string;
  readonly expected: string;
  /** What was found, without the row's own text: a row holds its solution. */
  readonly found: string;

  constructor(path: string, expected: string, found: string) {
    super(`${path === "" ? "row" : path}: expected ${expected}, found ${found}; correct the row`);
    this.path = path;
    this.expected = expected;
    this.found = found;
  }
}

const MARKER = "####";

/**
 * Reads a row of GSM8K as it is published: a JSON object with the texts `question` and `answer`, whose final
 * answer follows `####`. Further keys are left alone.
 *
 * @throws RowError with the path of the first field that is wrong (ENV-SEED-004).
 */
export function parseGsm8kRow(bytes: Uint8Array): Gsm8kRow {
  const row = parseObject(bytes);
  const question = textField(row, "question");
  const answer = textField(row, "answer");
  const [workings = "", final, ...more] = answer.split(MARKER);
  if (final === undefined) {
    throw new RowError("answer", `the final answer after ${MARKER}`, `no ${MARKER}`);
  }
  if (more.length > 0) {
    throw new RowError("answer", `one ${MARKER}`, `${more.length + 1} of them`);
  }
  const expected = final.trim();
  return { question, expected, value: parseNumber(expected), workings: workings.trim() };
}

function parseObject(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new RowError("", "UTF-8 text", "bytes that are not UTF-8");
  }
  let row: unknown;
  try {
    row = JSON.parse(text);
  } catch {
    throw new RowError("", "a JSON object", text.trim() === "" ? "nothing" : "text that is not JSON");
  }
  if (typeof row !== "object" || row === null || Array.isArray(row)) {
    throw new RowError("", "a JSON object", typeName(row));
  }
  return { ...row };
}

function textField(row: Readonly<Record<string, unknown>>, path: "question" | "answer"): string {
  const value = Object.hasOwn(row, path) ? row[path] : undefined;
  if (typeof value !== "string") {
    throw new RowError(path, "a text", typeName(value));
  }
  if (value.trim() === "") {
    throw new RowError(path, "a text that is not empty", "an empty one");
  }
  if (/\p{Surrogate}/u.test(value)) {
    // It would become a replacement character, or break the wire, further on.
    throw new RowError(path, "well-formed Unicode", "half of a surrogate pair");
  }
  return value;
}

function parseNumber(text: string): Rational {
  const sign = /^-?/.exec(text)?.[0] ?? "";
  const token = scanNumber(text, sign.length);
  if (!token.ok || token.end !== text.length) {
    throw new RowError("answer", `a number after ${MARKER}`, text === "" ? "nothing" : "something else");
  }
  return sign === "" ? token.value : negate(token.value);
}

function typeName(value: unknown): string {
  if (value === undefined) {
    return "nothing";
  }
  if (value === null) {
    return "null";
  }
  return Array.isArray(value) ? "a list" : typeof value === "object" ? "an object" : `a ${typeof value}`;
}
