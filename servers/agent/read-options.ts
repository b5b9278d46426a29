import { invalidField } from "../runtime/refusal.js";
import type { AgentDefinition } from "./define-agent.js";

/** What reading the options of a session needs. */
export interface OptionsSource<Options> {
  readonly definition: AgentDefinition<Options>;
  /** The server's own, which Open's go over. */
  readonly defaults?: Readonly<Record<string, unknown>>;
}

/** The session's options: Open's over the server's own. Throws INVALID_FIELD with the path of what does not fit. */
export function readOptions<Options>(
  { definition, defaults }: OptionsSource<Options>,
  optionsJson: string,
): Options {
  const parsed = definition.options.safeParse({ ...defaults, ...objectOf(optionsJson) });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const path = ["options_json", ...(issue?.path ?? [])].join(".");
  throw invalidField(path, issue?.message ?? "does not fit the schema of Describe");
}

function objectOf(optionsJson: string): object {
  if (optionsJson === "") return {};
  const expected = "expected the text of a JSON object, found";
  let value: unknown;
  try {
    value = JSON.parse(optionsJson);
  } catch {
    throw invalidField("options_json", `${expected} text that is no JSON`);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw invalidField("options_json", `${expected} another JSON value`);
}
