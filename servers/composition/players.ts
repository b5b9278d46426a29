import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.js";
import {
  type ConfiguredDriver,
  configureDrivers,
  episodeOptions,
  ownOptions,
} from "../episode/driver-options.js";
import { drivers as ourDrivers } from "../episode/drivers/index.js";
import { nearest } from "../runtime/nearest.js";
import type { Problem } from "../runtime/problem.js";
import { Refusal } from "../runtime/refusal.js";
import { choose } from "./choose.js";
import type { LoadedServer } from "./load-servers.js";
import type { ServerEntry } from "./server-schema.js";

/** An episode server and what it is asked for. */
export interface AskedDriver {
  /** Name of the episode server. */
  readonly server: string;
  /** Name of its driver; empty: its first. */
  readonly driver: string;
  /** Options of that driver: JSON object text, or empty. */
  readonly optionsJson: string;
}

/** Who plays the episodes of a run. */
export interface Players {
  /** What the run itself asks for. */
  readonly asked: AskedDriver;
  /** Episode servers, the run's own first: each has its episodes played by the next. */
  readonly servers: readonly string[];
  /** The last of them. */
  readonly last: AskedDriver;
  /**
   * Whose names a run gives: those of this configuration; those of an episode server at a URL, which may have others; or
   * nobody's, where what plays does not speak the contract.
   */
  readonly names: "ours" | "theirs" | "nobody";
}

/** What finding the players needs. */
export interface PlayersContext {
  /** Finds what a server is made of. Throws ConfigError. */
  readonly load: (server: string) => Promise<LoadedServer | undefined>;
  /** Gets what is wrong where it cannot be said which server plays. */
  readonly problems: Problem[];
}

/**
 * Who plays the episodes that an episode server is asked for, as each driver's `elsewhere` says of its options. Throws
 * ConfigError where a driver cannot be loaded.
 */
export async function playersOf(
  servers: ReadonlyMap<string, ServerEntry>,
  asked: AskedDriver,
  context: PlayersContext,
): Promise<Players> {
  const alone = (names: Players["names"]): Players => ({
    asked,
    servers: [asked.server],
    last: asked,
    names,
  });
  const loaded = servers.get(asked.server)?.kind === "episode" ? await context.load(asked.server) : undefined;
  if (loaded?.implementation.kind === "elsewhere") return alone("theirs");
  const chosen = loaded === undefined ? undefined : driverOf(loaded, asked.driver);
  if (loaded === undefined || chosen?.definition.elsewhere === undefined) return alone("ours");
  const others = new Map(
    [...servers].filter(([name, { kind }]) => kind === "episode" && name !== asked.server),
  );
  const next = nextOf(asked, { loaded, chosen, others: [...others.keys()], problems: context.problems });
  if (next === "nobody" || next === undefined) return alone(next ?? "theirs");
  // Without this one: whoever would hand an episode back finds nobody.
  const beyond = await playersOf(others, next, context);
  return { ...beyond, asked, servers: [asked.server, ...beyond.servers] };
}

/** Every driver of a server is one of ours that plays here: that needs no module to be loaded. */
export function surelyPlaysHere(server: ServerEntry | undefined): boolean {
  if (server?.kind !== "episode") return false;
  const { episode } = server.entry;
  return (typeof episode === "string" ? [episode] : episode).every((name) => {
    const chosen = choose(name);
    if (chosen.way !== "ours" || !Object.hasOwn(ourDrivers, chosen.name)) return false;
    return ourDrivers[chosen.name]?.elsewhere === undefined;
  });
}

/** A driver of a server with its options, empty: its first; undefined: it has none of that name. Throws as they do not fit. */
export function driverOf(
  { server, implementation }: LoadedServer,
  driver: string,
): ConfiguredDriver | undefined {
  if (implementation.kind !== "episode") return undefined;
  const configured = configureDrivers(implementation.drivers, server.entry.options);
  return driver === "" ? configured[0] : configured.find(({ definition }) => definition.name === driver);
}

interface NextContext {
  readonly loaded: LoadedServer;
  readonly chosen: ConfiguredDriver;
  /** Names of the episode servers that could play. */
  readonly others: readonly string[];
  readonly problems: Problem[];
}

/** Whom a driver asks whose episodes are played elsewhere; undefined: that cannot be said. */
function nextOf(
  { server, optionsJson }: AskedDriver,
  { loaded, chosen, others, problems }: NextContext,
): AskedDriver | "nobody" | undefined {
  const { definition } = chosen;
  const refuse = (field: readonly string[], text: string): undefined => {
    const { implementation } = loaded;
    const all = implementation.kind === "episode" ? implementation.drivers : [];
    const { path } = ownOptions(definition, all, {});
    problems.push({ path: ["servers", server, "options", ...path, ...field], text });
  };
  try {
    const options = episodeOptions(chosen, optionsJson);
    const name = definition.elsewhere?.(options, others);
    if (name === undefined) return "nobody";
    if (!others.includes(name)) {
      return refuse(["server"], `no other episode server "${name}"${nearest(name, others)}`);
    }
    return { server: name, ...furtherAsk(options) };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const violations = error.findDetails(BadRequestSchema).flatMap(({ fieldViolations }) => fieldViolations);
    for (const { field, description } of violations) {
      refuse(
        field
          .replace(/^options_json\.?/, "")
          .split(".")
          .filter(Boolean),
        description,
      );
    }
    return undefined;
  }
}

/** What a driver asks of the one that plays: its options `driver` and `driver_options`, where it has such. */
function furtherAsk(options: unknown): Omit<AskedDriver, "server"> {
  const { driver, driver_options: theirs } = (options ?? {}) as Readonly<Record<string, unknown>>;
  return {
    driver: typeof driver === "string" ? driver : "",
    optionsJson: typeof theirs === "object" && theirs !== null ? JSON.stringify(theirs) : "",
  };
}
