import type { z } from "zod";
import { invalidField } from "./refusal.js";

/** What options are read over, and by which schema. */
export interface OptionsRead<Options> {
  readonly schema: z.ZodType<Options>;
  /** The server's own, which the request's go over. */
  readonly defaults?: Readonly<Record<string, unknown>> | undefined;
}

/** The options of a request's `options_json` over the server's own. Throws INVALID_FIELD with the path of what does not fit. */
export function readOptionsText<Options>(
  { schema, defaults }: OptionsRead<Options>,
  optionsJson: string,
): Options {
  const parsed = schema.safeParse({ ...defaults, ...objectOf(optionsJson) });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const path = ["options_json", ...(issue?.path ?? [])].join(".");
  throw invalidField(path, issue?.message ?? "does not fit the schema of the options");
}

/** The object that `options_json` holds; empty text is an empty one. Throws INVALID_FIELD. */
export function objectOf(optionsJson: string): Readonly<Record<string, unknown>> {
  if (optionsJson === "") return {};
  const expected = "expected the text of a JSON object, found";
  let value: unknown;
  try {
    value = JSON.parse(optionsJson);
  } catch {
    throw invalidField("options_json", `${expected} text that is no JSON`);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw invalidField("options_json", `${expected} another JSON value`);
}
