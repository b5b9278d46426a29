import { isDeepStrictEqual } from "node:util";
import { ConfigError } from "../servers/composition/config-error.js";
import type { Config } from "../servers/composition/load-config.js";
import type { BudgetConfig, RunConfig } from "../servers/composition/run-schema.js";
import { nearest } from "../servers/composition/schema-problems.js";
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
  readonly repeats: number;
  readonly attempts: number;
  /** Name of the driver; empty: the episode server's first. */
  readonly driverName: string;
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
    return { name, config: { ...config, run, written } };
  });
}

/** The `run` of a configuration. Throws ConfigError where it has none. */
export function configuredRun(config: Config): RunConfig {
  if (config.run !== undefined) return config.run;
  throw config.refuse([{ path: [], text: "run: is missing; say there what to run" }]);
}

/** The agents of a run with another server for the first of them. Throws ConfigError where there is no such server. */
export function agentsWith(config: Config, run: RunConfig, name: string | undefined): RunConfig["agents"] {
  if (name === undefined) return run.agents;
  if (config.servers.get(name)?.kind !== "agent") {
    const known = [...config.servers].filter(([, { kind }]) => kind === "agent").map(([each]) => each);
    throw new ConfigError([`--agent: ${config.file} has no agent server "${name}"${nearest(name, known)}`]);
  }
  const [first = "agent"] = Object.keys(run.agents);
  return { ...run.agents, [first]: name };
}

/** What a run does: its configuration, what the command line changed, what its benchmark pins. Throws ConfigError. */
export function settle(
  run: RunConfig,
  changes: Pick<RunChanges, "repeats" | "concurrency">,
  benchmark: Benchmark | undefined,
): RunSettings {
  const pinned = benchmark?.protocol;
  const repeats = changes.repeats ?? run.repeats;
  const { attempts } = run;
  const problems: string[] = [];
  const mustEqual = (what: string, found: unknown, expected: unknown): void => {
    if (found === undefined || isDeepStrictEqual(found, expected)) return;
    problems.push(
      `run.${what}: benchmark ${benchmark?.name} pins ${JSON.stringify(expected)}, found ${JSON.stringify(found)}; leave it out, or run its file as plain tasks`,
    );
  };
  if (pinned !== undefined) {
    mustEqual("repeats", repeats, pinned.repeats);
    mustEqual("attempts", attempts, pinned.attempts);
    mustEqual("budget", run.budget, pinned.budget);
  }
  if (problems.length > 0) throw new ConfigError(problems);
  const budget: BudgetConfig | undefined = pinned?.budget ?? run.budget;
  return {
    ...run,
    repeats: repeats ?? pinned?.repeats ?? 1,
    attempts: attempts ?? pinned?.attempts ?? 3,
    concurrency: changes.concurrency ?? run.concurrency,
    ...(budget === undefined ? {} : { budget }),
    driverName: benchmark?.driver ?? "",
  };
}

/** Names of the servers that a run uses. */
export function serversOf(run: RunConfig): string[] {
  return [
    ...new Set([
      run.environment,
      ...Object.values(run.agents),
      ...Object.values(run.models),
      ...(run.sandbox === undefined ? [] : [run.sandbox]),
      run.driver,
    ]),
  ];
}
