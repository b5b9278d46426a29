import type { z } from "zod";
import type { EnvironmentDefinition } from "../define-environment.js";
import { escapeRoom, escapeRoomOptions } from "./escape-room/index.js";
import { facade, facadeOptions } from "./facade/index.js";
import { gridworld, gridworldOptions } from "./gridworld/index.js";
import { reasoning, reasoningOptions } from "./reasoning/index.js";
import { supportDesk, supportDeskOptions } from "./support-desk/index.js";
import { workbench, workbenchOptions } from "./workbench/index.js";

/** An environment of ours: its options and how it is made from them. */
export interface World {
  readonly options: z.ZodType;
  /** What is wrong with the options, or cannot be reached, is thrown. */
  create(options: unknown): Promise<EnvironmentDefinition<unknown, unknown>>;
}

function world<Options, Data, State>(
  options: z.ZodType<Options>,
  create: (
    options: Options,
  ) => EnvironmentDefinition<Data, State> | Promise<EnvironmentDefinition<Data, State>>,
): World {
  return {
    options,
    create: async (given) =>
      (await create(options.parse(given))) as unknown as EnvironmentDefinition<unknown, unknown>,
  };
}

/** Our environments, by the name that a configuration gives them. */
export const worlds: Readonly<Record<string, World>> = {
  "escape-room": world(escapeRoomOptions, escapeRoom),
  facade: world(facadeOptions, facade),
  gridworld: world(gridworldOptions, gridworld),
  reasoning: world(reasoningOptions, reasoning),
  "support-desk": world(supportDeskOptions, supportDesk),
  workbench: world(workbenchOptions, workbench),
};
