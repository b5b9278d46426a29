/** An object of a dialect. */
export type Json = Readonly<Record<string, unknown>>;

/** The dialects of this model, as they are named in extra_json and in the types of opaque items. */
export type DialectName = "openai_chat" | "openai_responses";

/** Text of extra_json that holds what a dialect says beyond the fields of the contract; empty: nothing. */
export function writeExtra(dialect: DialectName, extra: Json): string {
  return Object.keys(extra).length === 0 ? "" : JSON.stringify({ [dialect]: extra });
}

/** What extra_json holds of a dialect. What other dialects left there is theirs. */
export function readExtra(dialect: DialectName, extraJson: string): Json {
  if (extraJson === "") return {};
  const extra = asObject(parse(extraJson))?.[dialect];
  return asObject(extra) ?? {};
}

/** The object that a value is; undefined: it is none. */
export function asObject(value: unknown): Json | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : undefined;
}

/** The value of JSON text; undefined: it is none. */
export function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** An object without some of its fields. */
export function without(object: Json, ...names: readonly string[]): Json {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));
}
