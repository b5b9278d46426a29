import type { FailureKind } from "../../gen/index.js";
import { foundText } from "../runtime/found-text.js";
import { nearest } from "../runtime/nearest.js";
import { authorFault } from "./author-fault.js";

/** What a field of an author's answer may hold, in the words of its error. */
const accepts = {
  anything: () => true,
  "a boolean": (value) => typeof value === "boolean",
  "a bigint": (value) => typeof value === "bigint",
  text: (value) => typeof value === "string",
  "an object": isObject,
  // A list is told apart as what is no JSON object, where it is written.
  "notes: an object": (value) => typeof value === "object",
  "a list": Array.isArray,
  "text or an observation": (value) => typeof value === "string" || isObject(value),
  "text or a list of items": (value) => typeof value === "string" || Array.isArray(value),
  "text, an object, or a list of blocks": (value) => typeof value === "string" || typeof value === "object",
} as const satisfies Readonly<Record<string, (value: unknown) => boolean>>;

function isObject(value: unknown): boolean {
  return typeof value === "object" && !Array.isArray(value);
}

/** The fields that an answer may have; the compiler holds them to its type. */
export type AnswerShape<Answer> = {
  readonly [Key in keyof Required<Answer>]: keyof typeof accepts;
};

/** Who gave an answer, and what it is when it is none. */
export interface AnswerOf {
  /** What gave it, as its author calls it: `step`, `tool "look"`. */
  readonly by: string;
  readonly kind: FailureKind;
}

/**
 * Throws the author's fault where an answer is no object, or has a field that is none, or one that holds what it cannot:
 * a misspelt reward would be none, without a word. What is undefined was left out.
 */
export function checkAuthorAnswer(
  given: unknown,
  shape: Readonly<Record<string, keyof typeof accepts>>,
  { by, kind }: AnswerOf,
): void {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    const fields = Object.keys(shape).slice(0, 4).join(", ");
    throw authorFault(kind, `${by} gave ${foundText(given)}; expected an object with ${fields}, ...`);
  }
  for (const key in given) {
    const expected = shape[key];
    const value = (given as Readonly<Record<string, unknown>>)[key];
    if (expected === undefined || !Object.hasOwn(shape, key))
      throw authorFault(kind, `${by}: unknown field "${key}"${nearest(key, Object.keys(shape))}`);
    if (value === undefined || expected === "anything") continue;
    if (value === null || !accepts[expected](value))
      throw authorFault(kind, `${by}: ${key}: expected ${expected}, found ${foundText(value)}`);
  }
}
