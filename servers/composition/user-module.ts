import { extname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { type Clock, systemClock } from "../runtime/clock.js";
import { ConfigError } from "./config-error.js";
import { moduleFault } from "./module-fault.js";
import { thrownText } from "./thrown-text.js";

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
  /** The options are for other modules too: one that takes none is no mistake. */
  readonly optionsShared?: boolean;
  /** Time; absent: the machine's. */
  readonly clock?: Clock | undefined;
}

/** What a definition of a kind of server must have, by name. */
export interface DefinitionShape {
  /** What it is, with the function that makes one: `an environment (defineEnvironment)`. */
  readonly what: string;
  readonly members: Readonly<Record<string, "string" | "function" | "schema">>;
}

/** Milliseconds within which a module must be loaded, and its function must have made the definition. */
export const moduleMs = 30_000;

/**
 * The definition that a module exports by default, or that the function makes which it exports. Whatever the module does
 * instead, hanging included, is one clear line. Throws ConfigError.
 */
export async function loadUserModule<T>(module: UserModule, shape: DefinitionShape): Promise<T> {
  const { at, path, options, clock = systemClock } = module;
  let { value } = await bounded(load(module), clock, `${at}: loading ${path}`);
  if (value === undefined)
    throw new ConfigError([`${at}: ${path} has no default export; export a definition`]);
  const made = typeof value === "function";
  if (made) {
    const make = value as (options: UserModule["options"]) => unknown;
    const making = async (): Promise<Held> => {
      try {
        return { value: await make(options) };
      } catch (error) {
        throw new ConfigError([`${at}: the default export of ${path} threw: ${thrownText(error)}`]);
      }
    };
    ({ value } = await bounded(making(), clock, `${at}: the default export of ${path}`));
  }
  const lacking = whatLacks(value, shape);
  if (lacking === undefined) {
    if (!made && module.optionsShared !== true) checkTakesOptions(module, value as object);
    return value as T;
  }
  throw new ConfigError([
    `${at}: expected the default export of ${path} to be ${shape.what}, found ${lacking}`,
  ]);
}

/** What a module gave, in a box: a promise would touch the value itself, which may be anything. */
interface Held {
  readonly value: unknown;
}

/** Refuses options for a definition that tells of none: nothing would read them. */
function checkTakesOptions({ at, path, options }: UserModule, value: object): void {
  const [first] = Object.keys(options);
  if (first === undefined || "options" in value) return;
  throw new ConfigError([
    `${at}.options.${first}: ${path} takes no options; export a function that makes the definition of them, or leave them out`,
  ]);
}

/** What is wrong with a value that should have this shape; undefined: nothing. */
function whatLacks(value: unknown, { members }: DefinitionShape): string | undefined {
  if (typeof value !== "object" || value === null)
    return `a value of type ${value === null ? "null" : typeof value}`;
  for (const [name, kind] of Object.entries(members)) {
    try {
      const member = (value as Record<string, unknown>)[name];
      if (kind === "schema" ? hasSafeParse(member) : typeof member === kind) continue;
    } catch (error) {
      return `one whose "${name}" cannot be read: ${thrownText(error)}`;
    }
    return `one without the ${kind} "${name}"`;
  }
  // Whoever awaits it would wait for what it is not.
  if (isThenable(value)) return "something to be awaited";
  return undefined;
}

function isThenable(value: object): boolean {
  try {
    return "then" in value || Reflect.get(value, "then") !== undefined;
  } catch {
    return true;
  }
}

function hasSafeParse(schema: unknown): boolean {
  return (
    typeof schema === "object" &&
    schema !== null &&
    "safeParse" in schema &&
    typeof schema.safeParse === "function"
  );
}

/**
 * What comes of a user's work, within a bound. Node ends a process silently when it has nothing more to do, although
 * somebody waits: then nothing can end the wait, and it is given up at once.
 */
async function bounded<T>(work: Promise<T>, clock: Clock, what: string): Promise<T> {
  const given = new Promise<never>((_, reject) => {
    const giveUp = (why: string): void => {
      reject(new ConfigError([`${what} never ends: ${why}; check what it awaits`]));
    };
    const idle = (): void => giveUp("it waits, and nothing is left that could end the wait");
    const timer = clock.setTimer(moduleMs, () => giveUp(`it has not ended within ${moduleMs / 1000} s`));
    process.once("beforeExit", idle);
    const done = (): void => {
      timer.cancel();
      process.off("beforeExit", idle);
    };
    work.then(done, done);
  });
  return await Promise.race([work, given]);
}

async function load({ at, path, folder }: UserModule): Promise<Held> {
  const file = resolve(folder, path);
  try {
    await readTypeScript(file);
    const loaded: { readonly default?: unknown } = await import(pathToFileURL(file).href);
    return { value: loaded.default };
  } catch (error) {
    throw new ConfigError([`${at}: ${path} cannot be loaded: ${await moduleFault(error, file, folder)}`]);
  }
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
