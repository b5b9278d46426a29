import type { z } from "zod";
import type { EnvironmentDefinition } from "../define-environment.js";
import { reasoning, reasoningOptions } from "./reasoning/index.js";

/** An environment of ours: its options and how it is made from them. */
export interface World {
  readonly options: z.ZodType;
  create(options: unknown): EnvironmentDefinition<unknown, unknown>;
}

function world<Options, Data, State>(
  options: z.ZodType<Options>,
  create: (options: Options) => EnvironmentDefinition<Data, State>,
): World {
  return {
    options,
    create: (given) => create(options.parse(given)) as unknown as EnvironmentDefinition<unknown, unknown>,
  };
}

/** Our environments, by the name that a configuration gives them. */
export const worlds: Readonly<Record<string, World>> = {
  reasoning: world(reasoningOptions, reasoning),
};
