import { foundText } from "./found-text.js";
import { nearest } from "./nearest.js";

/** The keys of a definition, all of them, and which it must have: the compiler holds the list to the type. */
export type KeysOf<Definition> = {
  readonly [Key in keyof Required<Definition>]: object extends Pick<Definition, Key>
    ? "optional"
    : "required";
};

/**
 * Throws an Error where a definition is none, lacks a key, or has a key that is none: one that is misspelt would be a
 * feature that is missing without a word. Names the key, and of one that is none the nearest that is known.
 */
export function checkKeys(
  what: string,
  given: unknown,
  known: Readonly<Record<string, "required" | "optional">>,
): void {
  checkObject(what, given);
  const unknown = Object.keys(given).find((key) => !Object.hasOwn(known, key));
  if (unknown !== undefined) {
    throw new Error(`${what}: unknown key "${unknown}"${nearest(unknown, Object.keys(known))}`);
  }
  const values = given as Readonly<Record<string, unknown>>;
  const missing = Object.keys(known).find((key) => known[key] === "required" && isNothing(values[key]));
  if (missing !== undefined) throw new Error(`${what}: expected the key "${missing}", found nothing`);
}

/** Throws an Error where a value is no object. */
export function checkObject(what: string, given: unknown): asserts given is object {
  if (typeof given === "object" && given !== null && !Array.isArray(given)) return;
  throw new Error(`${what}: expected an object, found ${foundText(given)}`);
}

/** The members of a list; of none, nothing. Throws an Error where a value is another. */
export function listOf<Value>(what: string, given: readonly Value[] | undefined): readonly Value[] {
  if (given === undefined || Array.isArray(given)) return given ?? [];
  throw new Error(`${what}: expected a list, found ${foundText(given)}`);
}

function isNothing(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}

/** Throws an Error where a value is none of those that a definition may have there. */
export function checkChoice<Value extends string>(
  what: string,
  given: Value | undefined,
  known: Readonly<Record<Value, unknown>>,
): void {
  if (given !== undefined && Object.hasOwn(known, given)) return;
  const names = Object.keys(known);
  const hint = typeof given === "string" ? nearest(given, names) : `; known: ${names.join(", ")}`;
  throw new Error(`${what}: expected one of its values, found ${foundText(given)}${hint}`);
}
