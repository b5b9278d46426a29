import { nearest } from "./nearest.js";

/** The keys of a definition, all of them: the compiler holds the list to the type. */
export type KeysOf<Definition> = { readonly [Key in keyof Required<Definition>]: true };

/**
 * Throws an Error where a definition has a key that is none: one that is misspelt would be a feature that is missing
 * without a word. Names the key and the nearest that is known.
 */
export function checkKeys(what: string, given: object, known: Readonly<Record<string, true>>): void {
  const unknown = Object.keys(given).find((key) => !Object.hasOwn(known, key));
  if (unknown === undefined) return;
  throw new Error(`${what}: unknown key "${unknown}"${nearest(unknown, Object.keys(known))}`);
}

/** Throws an Error where a value is none of those that a definition may have there. */
export function checkChoice<Value extends string>(
  what: string,
  given: Value | undefined,
  known: Readonly<Record<Value, unknown>>,
): void {
  if (given !== undefined && Object.hasOwn(known, given)) return;
  const found = typeof given === "string" ? `"${given}"` : String(given);
  const names = Object.keys(known);
  const hint = typeof given === "string" ? nearest(given, names) : `; known: ${names.join(", ")}`;
  throw new Error(`${what}: expected one of its values, found ${found}${hint}`);
}
