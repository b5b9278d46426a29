import type { z } from "zod";
import type { EnvironmentDefinition } from "../define-environment.js";
import { escapeRoom, escapeRoomOptions } from "./escape-room/index.js";
import { facade, facadeOptions, facadeParts } from "./facade/index.js";
import type { PartContext } from "./facade/part.js";
import { gridworld, gridworldOptions } from "./gridworld/index.js";
import { reasoning, reasoningOptions } from "./reasoning/index.js";
import { supportDesk, supportDeskOptions } from "./support-desk/index.js";
import { workbench, workbenchOptions } from "./workbench/index.js";

/** An environment of ours: its options and how it is made from them. */
export interface World {
  readonly options: z.ZodType;
  /** What is wrong with the options is thrown. */
  create(options: unknown): EnvironmentDefinition<unknown, unknown>;
}

/** An environment of ours that is put together from other environment servers. */
export interface ComposedWorld {
  readonly options: z.ZodType;
  /** Names of the servers of its configuration that it needs, by the option that names them. */
  parts(options: unknown): ReadonlyMap<string, string>;
  /** Makes it once those run; what cannot be reached is thrown. */
  compose(options: unknown, context: PartContext): Promise<EnvironmentDefinition<unknown, unknown>>;
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

function composed<Options, Data, State>(
  options: z.ZodType<Options>,
  parts: (options: Options) => ReadonlyMap<string, string>,
  compose: (options: Options, context: PartContext) => Promise<EnvironmentDefinition<Data, State>>,
): ComposedWorld {
  return {
    options,
    parts: (given) => parts(options.parse(given)),
    compose: async (given, context) =>
      (await compose(options.parse(given), context)) as unknown as EnvironmentDefinition<unknown, unknown>,
  };
}

/** Our environments, by the name that a configuration gives them. */
export const worlds: Readonly<Record<string, World | ComposedWorld>> = {
  "escape-room": world(escapeRoomOptions, escapeRoom),
  facade: composed(facadeOptions, facadeParts, facade),
  gridworld: world(gridworldOptions, gridworld),
  reasoning: world(reasoningOptions, reasoning),
  "support-desk": world(supportDeskOptions, supportDesk),
  workbench: world(workbenchOptions, workbench),
};
