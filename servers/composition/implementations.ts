import { extname, isAbsolute, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { closest } from "fastest-levenshtein";
import type { z } from "zod";
import type { AgentDefinition } from "../agent/define-agent.js";
import { agents } from "../agent/harnesses/index.js";
import type { EnvironmentDefinition } from "../environment/define-environment.js";
import { worlds } from "../environment/worlds/index.js";
import type { DriverDefinition } from "../episode/define-driver.js";
import { drivers } from "../episode/drivers/index.js";
import type { ModelDefinition } from "../model/define-model.js";
import { models } from "../model/models/index.js";
import { ConfigError } from "./config-error.js";
import { problemsOf } from "./problems.js";

/** What the value of an entry's kind means: one of ours, a module, or a server that runs elsewhere. */
export type Chosen =
  | { readonly way: "ours"; readonly name: string }
  | { readonly way: "module"; readonly path: string }
  | { readonly way: "url"; readonly url: string };

/** Reads the value of `environment`, `agent`, `model`, `sandbox` or `episode`. */
export function choose(value: string): Chosen {
  if (/^(https?|unix):\/\//.test(value)) return { way: "url", url: value };
  if (value.startsWith(".") || isAbsolute(value) || /\.[mc]?[jt]s$/.test(value))
    return { way: "module", path: value };
  return { way: "ours", name: value };
}

/** Where an implementation is asked for, for messages and relative paths. */
export interface Place {
  /** Path in the configuration, such as `servers.maths`. */
  readonly at: string;
  /** Folder that module paths are relative to. */
  readonly folder: string;
  readonly options: Readonly<Record<string, unknown>>;
}

function unknownName(at: string, name: string, known: readonly string[]): ConfigError {
  return new ConfigError([
    `${at}: "${name}" is not one of ours (${known.join(", ")}); did you mean "${closest(name, known)}"? A module is a path such as ./${name}.ts, a server a URL`,
  ]);
}

/** Reads options by their schema. */
function readOptions(schema: z.ZodType, { at, options }: Place): unknown {
  const parsed = schema.safeParse(options);
  if (parsed.success) return parsed.data;
  throw new ConfigError(problemsOf(parsed.error, schema, [...at.split("."), "options"]));
}

/** The default export of a user's module; TypeScript is read as it is. */
async function load(path: string, { at, folder }: Place): Promise<unknown> {
  const file = resolve(folder, path);
  let loaded: unknown;
  try {
    const url = pathToFileURL(file).href;
    if (/^\.[mc]?ts$/.test(extname(file))) {
      const { tsImport } = await import("tsx/esm/api");
      loaded = await tsImport(url, import.meta.url);
    } else {
      loaded = await import(url);
    }
  } catch (error) {
    throw new ConfigError([
      `${at}: ${path} cannot be loaded: ${error instanceof Error ? error.message : String(error)}`,
    ]);
  }
  const exported = (loaded as { default?: unknown }).default;
  // tsx wraps the default export of a module once more where its caller is no TypeScript.
  const value =
    typeof exported === "object" && exported !== null && "default" in exported ? exported.default : exported;
  if (value === undefined) throw new ConfigError([`${at}: ${path} has no default export`]);
  return value;
}

/** The definition that a module exports, or makes from its options. */
async function fromModule<T>(path: string, place: Place, isOne: (value: object) => boolean): Promise<T> {
  const exported = await load(path, place);
  const value: unknown = typeof exported === "function" ? await exported(place.options) : exported;
  if (typeof value === "object" && value !== null && isOne(value)) return value as T;
  throw new ConfigError([`${place.at}: the default export of ${path} is not what this kind of server needs`]);
}

function has(value: object, ...names: string[]): boolean {
  return names.every((name) => name in value);
}

/** The environment that an entry names. */
export async function findEnvironment(
  chosen: Chosen,
  place: Place,
): Promise<EnvironmentDefinition<unknown, unknown> | undefined> {
  switch (chosen.way) {
    case "url":
      return undefined;
    case "module":
      return await fromModule(chosen.path, place, (value) => has(value, "name", "read", "seed", "verify"));
    case "ours": {
      const world = worlds[chosen.name];
      if (world === undefined) throw unknownName(place.at, chosen.name, Object.keys(worlds));
      readOptions(world.options, place);
      return world.create(place.options);
    }
  }
}

/** The agent that an entry names; its options are defaults for Open's. */
export async function findAgent(chosen: Chosen, place: Place): Promise<AgentDefinition<unknown> | undefined> {
  if (chosen.way === "url") return undefined;
  const definition =
    chosen.way === "module"
      ? await fromModule<AgentDefinition<unknown>>(chosen.path, place, (value) =>
          has(value, "name", "activate", "options"),
        )
      : (agents[chosen.name] as AgentDefinition<unknown> | undefined);
  if (definition === undefined) {
    throw unknownName(place.at, chosen.way === "ours" ? chosen.name : "", Object.keys(agents));
  }
  readOptions(definition.options, place);
  return definition;
}

/** The model that an entry names. */
export async function findModel(chosen: Chosen, place: Place): Promise<ModelDefinition | undefined> {
  switch (chosen.way) {
    case "url":
      return undefined;
    case "module":
      return await fromModule(chosen.path, place, (value) => has(value, "name", "generate", "countTokens"));
    case "ours": {
      const model = models[chosen.name];
      if (model === undefined) throw unknownName(place.at, chosen.name, Object.keys(models));
      return await model.create(readOptions(model.options, place), place.folder);
    }
  }
}

/** The drivers that an entry names. */
export async function findDrivers(names: readonly string[], place: Place): Promise<DriverDefinition[]> {
  return await Promise.all(
    names.map(async (name) => {
      const chosen = choose(name);
      if (chosen.way === "module") {
        return await fromModule<DriverDefinition>(chosen.path, place, (value) => has(value, "name", "run"));
      }
      const driver = chosen.way === "ours" ? drivers[chosen.name] : undefined;
      if (driver === undefined) throw unknownName(place.at, name, Object.keys(drivers));
      return driver;
    }),
  );
}
