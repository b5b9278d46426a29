import { dirname, resolve } from "node:path";
import { nearest } from "../runtime/nearest.js";
import type { Problem } from "../runtime/problem.js";
import { problemsOf } from "../runtime/schema-problems.js";
import { checkNames, checkRun } from "./check-run.js";
import { checkServer } from "./check-servers.js";
import type { ConfigError } from "./config-error.js";
import { surelyPlaysHere } from "./players.js";
import { readYaml } from "./read-yaml.js";
import type { RunConfig } from "./run-schema.js";
import type { ServerEntry } from "./server-schema.js";
import { substitute } from "./substitute.js";
import { type TelemetryConfig, telemetrySchema } from "./telemetry-schema.js";

/** A configuration, read and checked; paths in it are relative to its file. */
export interface Config {
  /** The file, for messages. */
  readonly file: string;
  /** The folder that paths are relative to. */
  readonly folder: string;
  readonly servers: ReadonlyMap<string, ServerEntry>;
  readonly run: RunConfig | undefined;
  /** Several runs of one file by name, in the place of `run`; empty: there is one, or none. */
  readonly runs: ReadonlyMap<string, RunConfig>;
  readonly telemetry: TelemetryConfig | undefined;
  /** What the file says, variables unread: what may be stored once secrets are left out. */
  readonly written: {
    readonly servers: Record<string, unknown>;
    readonly run: Record<string, unknown>;
    readonly runs: Record<string, unknown>;
  };
  /** A ConfigError that tells problems with the file's name and their lines. */
  refuse(problems: readonly Problem[]): ConfigError;
}

const topKeys = ["servers", "run", "runs", "telemetry"];

/** Reads a configuration file. Throws ConfigError with every problem found. */
export async function loadConfig(
  file: string,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<Config> {
  const { value: written, refuse } = await readYaml(file);
  if (!isObject(written)) throw refuse([{ path: [], text: "expected a mapping with the key servers" }]);
  const problems: Problem[] = [];
  const read = substitute(written, environment, problems) as Record<string, unknown>;
  for (const key of Object.keys(read).filter((key) => !topKeys.includes(key))) {
    problems.push({ path: [key], text: `unknown key${nearest(key, topKeys)}` });
  }
  const servers = new Map<string, ServerEntry>();
  if (isObject(read["servers"])) {
    for (const [name, entry] of Object.entries(read["servers"])) {
      const checked = checkServer(name, entry, problems);
      if (checked !== undefined) servers.set(name, checked);
    }
  } else problems.push({ path: ["servers"], text: "expected a mapping of names to servers" });
  const run = read["run"] === undefined ? undefined : checkRun(read["run"], problems, ["run"]);
  const runs = readRuns(read, problems);
  const telemetry = checkTelemetry(read["telemetry"], problems);
  // Names are only judged where the servers themselves could be read.
  if (problems.length === 0) {
    const check = (each: RunConfig, at: readonly string[]): void => {
      // Who plays may be the affair of a module, or of a benchmark's driver: where it is, names are judged with the run.
      const names = surelyPlaysHere(servers.get(each.driver)) ? "ours" : "nobody";
      checkNames(each, servers, { problems, at, names });
    };
    if (run !== undefined) check(run, ["run"]);
    for (const [name, each] of runs) check(each, ["runs", name]);
  }
  if (problems.length > 0) throw refuse(problems);
  return {
    file,
    folder: dirname(resolve(file)),
    servers,
    run,
    runs,
    telemetry,
    written: {
      servers: objectOf(written["servers"]),
      run: objectOf(written["run"]),
      runs: objectOf(written["runs"]),
    },
    refuse,
  };
}

/** Reads several runs of one file. Each has a folder of its own, so its name is one. */
function readRuns(
  read: Readonly<Record<string, unknown>>,
  problems: Problem[],
): ReadonlyMap<string, RunConfig> {
  const runs = new Map<string, RunConfig>();
  const { runs: written } = read as { readonly runs?: unknown };
  if (written === undefined) return runs;
  if (read["run"] !== undefined) problems.push({ path: ["runs"], text: "expected run or runs, found both" });
  if (!isObject(written) || Object.keys(written).length === 0) {
    problems.push({ path: ["runs"], text: "expected a mapping of names to runs" });
    return runs;
  }
  for (const [name, entry] of Object.entries(written)) {
    if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name)) {
      problems.push({
        path: ["runs", name],
        text: "expected a name of letters, digits, . _ -: it is a folder's too",
      });
    }
    const run = checkRun(entry, problems, ["runs", name]);
    if (run !== undefined) runs.set(name, run);
  }
  return runs;
}

/** Reads what is to be told of the servers; undefined where nothing is, or it has problems. */
function checkTelemetry(telemetry: unknown, problems: Problem[]): TelemetryConfig | undefined {
  if (telemetry === undefined) return undefined;
  const parsed = telemetrySchema.safeParse(telemetry);
  if (parsed.success) return parsed.data;
  problems.push(...problemsOf(parsed.error, telemetrySchema, ["telemetry"]));
  return undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function objectOf(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {};
}
