import type { z } from "zod";
import type { AgentDefinition } from "../agent/define-agent.js";
import { agents } from "../agent/harnesses/index.js";
import type { EnvironmentDefinition } from "../environment/define-environment.js";
import type { PartContext } from "../environment/worlds/facade/part.js";
import { worlds } from "../environment/worlds/index.js";
import type { DriverDefinition } from "../episode/define-driver.js";
import { ownOptions } from "../episode/driver-options.js";
import { drivers } from "../episode/drivers/index.js";
import type { ModelDefinition } from "../model/define-model.js";
import { models } from "../model/models/index.js";
import type { Clock } from "../runtime/clock.js";
import { nearest } from "../runtime/nearest.js";
import { problemText } from "../runtime/problem.js";
import { problemsOf } from "../runtime/schema-problems.js";
import { type Chosen, choose } from "./choose.js";
import { ConfigError } from "./config-error.js";
import { thrownText } from "./thrown-text.js";
import { type DefinitionShape, loadUserModule } from "./user-module.js";

/** Where an implementation is asked for, for messages and relative paths. */
export interface Place {
  /** Path in the configuration, such as `servers.maths`. */
  readonly at: string;
  /** Folder that module paths are relative to. */
  readonly folder: string;
  readonly options: Readonly<Record<string, unknown>>;
  /** Time; absent: the machine's. */
  readonly clock?: Clock | undefined;
}

/** What runs here: one of ours, or a module. */
export type ChosenHere = Exclude<Chosen, { readonly way: "url" }>;

/** One of ours by its name. Throws ConfigError that names the nearest. */
function ours<T>(all: Readonly<Record<string, T>>, name: string, at: string): T {
  const found = Object.hasOwn(all, name) ? all[name] : undefined;
  if (found !== undefined) return found;
  throw new ConfigError([
    `${at}: "${name}" is none of ours, no path of a module (./${name}.ts) and no URL${nearest(name, Object.keys(all))}`,
  ]);
}

/** Refuses options that do not fit their schema. */
function checkOptions(schema: z.ZodType, { at, options }: Place): void {
  const parsed = schema.safeParse(options);
  if (parsed.success) return;
  throw new ConfigError(problemsOf(parsed.error, schema, [at, "options"]).map(problemText));
}

const environmentShape: DefinitionShape = {
  what: "an environment (defineEnvironment)",
  members: { name: "string", version: "string", read: "function", seed: "function", verify: "function" },
};
const agentShape: DefinitionShape = {
  what: "an agent (defineAgent)",
  members: { name: "string", version: "string", activate: "function", options: "schema" },
};
const modelShape: DefinitionShape = {
  what: "a model (defineModel)",
  members: { name: "string", version: "string", generate: "function", countTokens: "function" },
};
const driverShape: DefinitionShape = {
  what: "a driver (defineDriver)",
  members: { name: "string", run: "function" },
};

/** An environment as it is found: defined, or to be put together once the servers run that it is made of. */
export type FoundEnvironment =
  | { readonly kind: "environment"; readonly definition: EnvironmentDefinition<unknown, unknown> }
  | {
      readonly kind: "composed";
      readonly compose: (context: PartContext) => Promise<EnvironmentDefinition<unknown, unknown>>;
    };

/** The environment that an entry names. */
export async function findEnvironment(chosen: ChosenHere, place: Place): Promise<FoundEnvironment> {
  if (chosen.way === "module") {
    const definition = await loadUserModule<EnvironmentDefinition<unknown, unknown>>(
      { ...place, path: chosen.path },
      environmentShape,
    );
    return { kind: "environment", definition };
  }
  const world = ours(worlds, chosen.name, place.at);
  checkOptions(world.options, place);
  const { options } = place;
  return "compose" in world
    ? { kind: "composed", compose: (context) => world.compose(options, context) }
    : { kind: "environment", definition: world.create(options) };
}

/** The agent that an entry names; its options are defaults for Open's. */
export async function findAgent(chosen: ChosenHere, place: Place): Promise<AgentDefinition<unknown>> {
  const definition =
    chosen.way === "module"
      ? await loadUserModule<AgentDefinition<unknown>>({ ...place, path: chosen.path }, agentShape)
      : (ours(agents, chosen.name, place.at) as AgentDefinition<unknown>);
  checkOptions(definition.options, place);
  return definition;
}

/** The model that an entry names. */
export async function findModel(chosen: ChosenHere, place: Place): Promise<ModelDefinition> {
  if (chosen.way === "module") {
    return await loadUserModule({ ...place, path: chosen.path }, modelShape);
  }
  const model = ours(models, chosen.name, place.at);
  checkOptions(model.options, place);
  try {
    return await model.create(place.options, place.folder);
  } catch (error) {
    // What a model needs at its start, such as a script, is input too.
    const problems = error instanceof Error && "problems" in error ? error.problems : [thrownText(error)];
    throw new ConfigError((problems as readonly string[]).map((problem) => `${place.at}: ${problem}`));
  }
}

/** The drivers that an entry names. */
export async function findDrivers(names: readonly string[], place: Place): Promise<DriverDefinition[]> {
  const found = await Promise.all(
    names.map(async (name) => {
      const chosen = choose(name);
      if (chosen.way === "module") {
        const module = { ...place, path: chosen.path, optionsShared: names.length > 1 };
        return await loadUserModule<DriverDefinition>(module, driverShape);
      }
      if (chosen.way === "url") {
        throw new ConfigError([
          `${place.at}: expected drivers in a list, found a URL; a server at a URL stands alone`,
        ]);
      }
      return ours(drivers, chosen.name, place.at);
    }),
  );
  const problems = found.flatMap((definition) => {
    const { own, path } = ownOptions(definition, found, place.options);
    const parsed = definition.options?.safeParse(own);
    if (definition.options === undefined || parsed?.error === undefined) return [];
    return problemsOf(parsed.error, definition.options, [place.at, "options", ...path]);
  });
  if (problems.length > 0) throw new ConfigError(problems.map(problemText));
  return found;
}
