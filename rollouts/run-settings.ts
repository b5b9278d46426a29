import { isDeepStrictEqual } from "node:util";
import { ConfigError } from "../servers/composition/config-error.js";
import type { Config } from "../servers/composition/load-config.js";
import type { Players } from "../servers/composition/players.js";
import type { BudgetConfig, RunConfig } from "../servers/composition/run-schema.js";
import { withParts } from "../servers/composition/server-parts.js";
import type { ServerKind } from "../servers/composition/server-schema.js";
import { nearest } from "../servers/runtime/nearest.js";
import type { Problem } from "../servers/runtime/problem.js";
import type { Benchmark } from "./benchmark.js";

/** What a command line changes of a run. */
export interface RunChanges {
  readonly tasks?: string | undefined;
  /** Agent servers; several: one run each. */
  readonly agents?: readonly string[] | undefined;
  readonly repeats?: number | undefined;
  readonly concurrency?: number | undefined;
}

/** What one run does, everything decided. */
export interface RunSettings extends RunConfig {
  /** Name of the environment; where nobody knows one, the driver's. */
  readonly environment: string;
  readonly repeats: number;
  readonly attempts: number;
  /** Name of the driver; empty: the episode server's first. */
  readonly driverName: string;
  /** Who plays its episodes. */
  readonly players: Players;
}

/** A run of a configuration, with what the configuration would be if it were its only one. */
export interface NamedRun {
  /** Its name among several; undefined: it is the only one. */
  readonly name: string | undefined;
  readonly config: Config;
}

/** The runs of a configuration: `run`, or each of `runs`. Throws ConfigError where it has none. */
export function configuredRuns(config: Config): readonly NamedRun[] {
  if (config.runs.size === 0) {
    configuredRun(config);
    return [{ name: undefined, config }];
  }
  return [...config.runs].map(([name, run]) => {
    const written = { ...config.written, run: config.written.runs[name] as Record<string, unknown> };
    const refuse: Config["refuse"] = (problems) => config.refuse(problems.map((each) => ofRun(name, each)));
    return { name, config: { ...config, run, written, refuse } };
  });
}

/** A problem of `run`, where it stands in a file of several. */
function ofRun(name: string, { path: [first, ...path], text }: Problem): Problem {
  return {
    path: first === "run" ? ["runs", name, ...path] : first === undefined ? [] : [first, ...path],
    text,
  };
}

/** The `run` of a configuration. Throws ConfigError where it has none. */
export function configuredRun(config: Config): RunConfig {
  if (config.run !== undefined) return config.run;
  throw config.refuse([{ path: ["run"], text: "is missing; say there what to run" }]);
}

/** The agents of a run with another server for the first of them. Throws ConfigError where there is no such server. */
export function agentsWith(
  run: RunConfig,
  name: string | undefined,
  { config, players: { names } }: { readonly config: Config; readonly players: Players },
): RunConfig["agents"] {
  if (name === undefined) return run.agents;
  // Played elsewhere, agents may be known there only.
  if (names === "ours" && config.servers.get(name)?.kind !== "agent") {
    const known = [...config.servers].filter(([, { kind }]) => kind === "agent").map(([each]) => each);
    throw new ConfigError([`--agent: ${config.file} has no agent server "${name}"${nearest(name, known)}`]);
  }
  const [first = "agent"] = Object.keys(run.agents);
  return { ...run.agents, [first]: name };
}

interface SettleContext {
  readonly config: Config;
  readonly benchmark: Benchmark | undefined;
  /** Who plays its episodes. */
  readonly players: Players;
}

/** What a run does: its configuration, what the command line changed, what its benchmark pins. Throws ConfigError. */
export function settle(
  run: RunConfig,
  changes: Pick<RunChanges, "repeats" | "concurrency">,
  { config, benchmark, players }: SettleContext,
): RunSettings {
  const pinned = benchmark?.protocol;
  const repeats = changes.repeats ?? run.repeats;
  const { attempts } = run;
  const problems: Problem[] = [];
  const mustEqual = (what: string, found: unknown, expected: unknown): void => {
    if (found === undefined || isDeepStrictEqual(found, expected)) return;
    const text = `benchmark ${benchmark?.name} pins ${JSON.stringify(expected)}, found ${JSON.stringify(found)}; leave it out, or run its file as plain tasks`;
    problems.push({ path: ["run", what], text });
  };
  if (pinned !== undefined) {
    mustEqual("repeats", repeats, pinned.repeats);
    mustEqual("attempts", attempts, pinned.attempts);
    mustEqual("budget", run.budget, pinned.budget);
  }
  if (problems.length > 0) throw config.refuse(problems);
  const budget: BudgetConfig | undefined = pinned?.budget ?? run.budget;
  return {
    ...run,
    repeats: repeats ?? pinned?.repeats ?? 1,
    attempts: attempts ?? pinned?.attempts ?? 3,
    concurrency: changes.concurrency ?? run.concurrency,
    ...(budget === undefined ? {} : { budget }),
    environment: run.environment ?? run.driver,
    driverName: players.asked.driver,
    players,
  };
}

/**
 * Names of the servers that a run uses, with what its environment is put together from. Those of an episode that is played elsewhere may be the other side's; the ones
 * that this configuration has are asked what they are.
 */
export function serversOf({ servers: configured }: Pick<Config, "servers">, run: RunSettings): string[] {
  const { names, servers } = run.players;
  const known = (kind: ServerKind, all: readonly string[]): readonly string[] =>
    names === "ours" ? all : all.filter((name) => configured.get(name)?.kind === kind);
  return withParts(configured, [
    ...known("environment", [run.environment]),
    ...known("agent", Object.values(run.agents)),
    ...known("model", Object.values(run.models)),
    ...known("sandbox", run.sandbox === undefined ? [] : [run.sandbox]),
    ...servers,
  ]);
}
