import { ownOptions } from "../episode/driver-options.js";
import { external } from "../episode/drivers/external.js";
import { nearest } from "../runtime/nearest.js";
import { objectOf } from "../runtime/options-text.js";
import { Refusal } from "../runtime/refusal.js";
import { choose } from "./choose.js";
import type { Problem } from "./problem.js";
import type { EpisodeEntry, ServerEntry } from "./server-schema.js";

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

/**
 * Who plays the episodes that an episode server is asked for, as its driver `external` is configured; a driver of the
 * user plays with the servers of its configuration. Adds a problem where it cannot be said which server is meant.
 */
export function playersOf(
  servers: ReadonlyMap<string, ServerEntry>,
  asked: AskedDriver,
  problems: Problem[] = [],
): Players {
  const alone = (names: Players["names"]): Players => ({ servers: [asked.server], last: asked, names });
  const server = servers.get(asked.server);
  if (server?.kind !== "episode") return alone("ours");
  const drivers = driversOf(server.entry);
  if (choose(drivers[0] ?? "").way === "url") return alone("theirs");
  if ((asked.driver || drivers[0]) !== external.name) return alone("ours");
  const others = new Map(
    [...servers].filter(([name, { kind }]) => kind === "episode" && name !== asked.server),
  );
  const next = nextOf(asked, { entry: server.entry, others: [...others.keys()], problems });
  if (next === "nobody" || next === undefined) return alone(next ?? "theirs");
  // Without this one: whoever would hand an episode back finds nobody.
  const beyond = playersOf(others, next, problems);
  return { ...beyond, servers: [asked.server, ...beyond.servers] };
}

function driversOf({ episode }: EpisodeEntry): readonly string[] {
  return typeof episode === "string" ? [episode] : episode;
}

/** Whom `external` asks; undefined: that cannot be said. */
function nextOf(
  { server, optionsJson }: AskedDriver,
  from: { readonly entry: EpisodeEntry; readonly others: readonly string[]; readonly problems: Problem[] },
): AskedDriver | "nobody" | undefined {
  const { entry, others, problems } = from;
  const drivers = driversOf(entry).map((name) => ({ ...external, name }));
  const { own, path } = ownOptions(external, drivers, entry.options ?? {});
  const parsed = external.options?.safeParse({ ...(own as object), ...objectOf(optionsJson) });
  // Options that do not fit are told where the driver is loaded.
  if (parsed?.success !== true) return undefined;
  const { driver, driver_options: theirs } = parsed.data;
  const refuse = (text: string): undefined => {
    problems.push({ path: ["servers", server, "options", ...path, "server"], text });
  };
  try {
    const name = external.elsewhere?.(parsed.data, others);
    if (name === undefined) return "nobody";
    if (!others.includes(name)) return refuse(`no other episode server "${name}"${nearest(name, others)}`);
    return { server: name, driver, optionsJson: theirs === undefined ? "" : JSON.stringify(theirs) };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return refuse(error.rawMessage.replace("options_json.server: ", ""));
  }
}
