import { extname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { ConfigError } from "./config-error.js";

/** A module of the user, as a configuration names it. */
export interface UserModule {
  /** Path in the configuration, such as `servers.maths`, for messages. */
  readonly at: string;
  /** Path of the module. */
  readonly path: string;
  /** Folder that it is relative to. */
  readonly folder: string;
  /** Given to the default export where that is a function. */
  readonly options: Readonly<Record<string, unknown>>;
}

/**
 * The definition that a module exports by default, or that the function makes which it exports. `isOne` tells a
 * definition of the wanted kind. Throws ConfigError.
 */
export async function loadUserModule<T>(module: UserModule, isOne: (value: object) => boolean): Promise<T> {
  const { at, path, options } = module;
  const exported = await load(module);
  if (exported === undefined)
    throw new ConfigError([`${at}: ${path} has no default export; export a definition`]);
  let value: unknown = exported;
  if (typeof exported === "function") {
    try {
      value = await exported(options);
    } catch (error) {
      throw new ConfigError([`${at}: the default export of ${path} threw: ${messageOf(error)}`]);
    }
  }
  if (typeof value === "object" && value !== null && isOne(value)) return value as T;
  throw new ConfigError([
    `${at}: expected the default export of ${path} to be a definition of this kind of server, found something else`,
  ]);
}

async function load({ at, path, folder }: UserModule): Promise<unknown> {
  const file = resolve(folder, path);
  let loaded: { readonly default?: unknown };
  try {
    await readTypeScript(file);
    loaded = await import(pathToFileURL(file).href);
  } catch (error) {
    throw new ConfigError([`${at}: ${path} cannot be loaded: ${whyNot(error)}`]);
  }
  return loaded.default;
}

let typeScriptIsRead = import.meta.url.endsWith(".ts");

/**
 * Lets TypeScript be imported as it is. The whole process shares one graph of modules then, so that the classes that a
 * module throws are the ones that its server knows.
 */
async function readTypeScript(file: string): Promise<void> {
  if (typeScriptIsRead || !/^\.[mc]?ts$/.test(extname(file))) return;
  typeScriptIsRead = true;
  const { register } = await import("tsx/esm/api");
  // The user's own tsconfig.json may map names to other files than those that run here.
  register({ tsconfig: false });
}

function whyNot(error: unknown): string {
  if (error instanceof Error && "code" in error && error.code === "ERR_REQUIRE_CYCLE_MODULE") {
    return 'its folder\'s package.json does not say that it is an ECMAScript module; add "type": "module" there, or name it .mts';
  }
  return messageOf(error);
}

/** The first line of an error: what follows are stacks and excerpts. */
function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split("\n")[0] ?? "";
}
