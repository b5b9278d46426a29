import { readOptionsText } from "../runtime/options-text.js";
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
  return readOptionsText({ schema: definition.options, defaults }, optionsJson);
}
