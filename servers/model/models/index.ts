import type { z } from "zod";
import type { ModelDefinition } from "../define-model.js";
import { echo, echoOptions } from "./echo/index.js";
import { openai, openaiOptions } from "./openai/index.js";
import { replay, replayOptions } from "./replay/index.js";

/** A model that can be chosen by its name. */
export interface ModelEntry {
  /** Schema of its options. */
  readonly options: z.ZodType;
  /** Makes it; `folder`: what paths in the options are relative to. Throws where the options do not fit. */
  create(options: unknown, folder?: string): ModelDefinition | Promise<ModelDefinition>;
}

/** A model and its options, typed. */
function entry<S extends z.ZodType>(
  options: S,
  create: (options: z.output<S>, folder: string | undefined) => ModelDefinition | Promise<ModelDefinition>,
): ModelEntry {
  return { options, create: (given, folder) => create(options.parse(given), folder) };
}

/** Our models, by name. */
export const models: Readonly<Record<string, ModelEntry>> = {
  echo: entry(echoOptions, (options) => echo(options)),
  openai: entry(openaiOptions, (options) => openai(options)),
  replay: entry(replayOptions, (options, folder) => replay(options, folder === undefined ? {} : { folder })),
};

export { echo, openai, replay };
