import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { closest } from "fastest-levenshtein";
import { LineCounter, parseDocument } from "yaml";
import { ConfigError } from "./config-error.js";
import {
  type RunConfig,
  runSchema,
  type ServerEntry,
  type ServerKind,
  serverKinds,
} from "./config-schema.js";
import { problemsOf } from "./problems.js";
import { substitute } from "./variables.js";

/** A configuration, read and checked; paths in it are relative to its file. */
export interface Config {
  /** The file, for messages. */
  readonly file: string;
  /** The folder that paths are relative to. */
  readonly folder: string;
  readonly servers: ReadonlyMap<string, ServerEntry>;
  readonly run: RunConfig | undefined;
  /** The configuration as it was written, variables unread: what may be stored without telling a secret. */
  readonly written: unknown;
}

/** Reads a configuration file. Throws ConfigError with every problem found. */
export async function loadConfig(
  file: string,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<Config> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch {
    throw new ConfigError([`${file}: cannot be read`]);
  }
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  if (document.errors.length > 0) {
    throw new ConfigError(
      document.errors.map(
        (error) => `${file}:${lines.linePos(error.pos[0]).line}: ${error.message.split("\n")[0]}`,
      ),
    );
  }
  const written: unknown = document.toJS();
  const problems: string[] = [];
  const read = substitute(written, environment, problems);
  const config = checkConfig(read, problems);
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => `${file}: ${problem}`));
  return { file, folder: dirname(resolve(file)), written, ...config };
}

const topKeys = ["servers", "run"];
const idGrammar = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function checkConfig(read: unknown, problems: string[]): Pick<Config, "servers" | "run"> {
  const servers = new Map<string, ServerEntry>();
  if (!isObject(read)) {
    problems.push("expected a mapping with the key servers");
    return { servers, run: undefined };
  }
  for (const key of Object.keys(read)) {
    if (!topKeys.includes(key))
      problems.push(`${key}: unknown key; did you mean "${closest(key, topKeys)}"?`);
  }
  const { servers: entries, run } = read;
  if (!isObject(entries)) problems.push("servers: expected a mapping of names to servers");
  else {
    for (const [name, entry] of Object.entries(entries)) {
      const checked = checkServer(name, entry, problems);
      if (checked !== undefined) servers.set(name, checked);
    }
  }
  const checkedRun = run === undefined ? undefined : checkRun(run, problems);
  // Names are only judged where the servers themselves could be read.
  if (checkedRun !== undefined && problems.length === 0) checkNames(checkedRun, servers, problems);
  return { servers, run: checkedRun };
}

function checkServer(name: string, entry: unknown, problems: string[]): ServerEntry | undefined {
  const path = ["servers", name];
  if (!idGrammar.test(name))
    problems.push(`servers.${name}: expected a name of letters, digits, ".", "_", "-"`);
  if (!isObject(entry)) {
    problems.push(`servers.${name}: expected a mapping`);
    return undefined;
  }
  const kind = kindOf(entry);
  if (kind === undefined) {
    const kinds = Object.keys(serverKinds).join(", ");
    problems.push(`servers.${name}: expected exactly one of the keys ${kinds}`);
    return undefined;
  }
  const schema = serverKinds[kind];
  const parsed = schema.safeParse(entry);
  if (!parsed.success) {
    problems.push(...problemsOf(parsed.error, schema, path));
    return undefined;
  }
  const checked = { kind, entry: parsed.data } as ServerEntry;
  checkCaps(name, checked, problems);
  return checked;
}

/** The kind that an entry's keys tell; an environment may name its sandbox beside. */
function kindOf(entry: Record<string, unknown>): ServerKind | undefined {
  const kinds = (Object.keys(serverKinds) as ServerKind[]).filter((key) => key in entry);
  const [first, second] = kinds;
  if (kinds.length === 1) return first;
  return kinds.length === 2 && first === "environment" && second === "sandbox" ? first : undefined;
}

/** A cap without a bound on the wait, or a bound without a cap, is refused (EPI-E4-004, field-case-056). */
function checkCaps(name: string, { kind, entry }: ServerEntry, problems: string[]): void {
  if (kind !== "episode") {
    if (entry.queue_timeout !== undefined && entry.max_sessions === undefined) {
      problems.push(`servers.${name}: queue_timeout without max_sessions bounds nothing`);
    }
    return;
  }
  if ((entry.max_concurrent_episodes === undefined) !== (entry.queue_timeout === undefined)) {
    problems.push(`servers.${name}: max_concurrent_episodes and queue_timeout go together; one is missing`);
  }
}

function checkRun(run: unknown, problems: string[]): RunConfig | undefined {
  const parsed = runSchema.safeParse(run);
  if (parsed.success) return parsed.data;
  problems.push(...problemsOf(parsed.error, runSchema, ["run"]));
  return undefined;
}

/** Every name that a run uses must be a server of the right kind (field-case-107). */
function checkNames(run: RunConfig, servers: ReadonlyMap<string, ServerEntry>, problems: string[]): void {
  const need = (path: string, name: string, kind: ServerKind): void => {
    if (servers.get(name)?.kind === kind) return;
    const known = [...servers].filter(([, entry]) => entry.kind === kind).map(([known]) => known);
    problems.push(`run.${path}: no ${kind} server "${name}"; known: ${known.join(", ") || "none"}`);
  };
  need("driver", run.driver, "episode");
  need("environment", run.environment, "environment");
  for (const [agentId, name] of Object.entries(run.agents)) need(`agents.${agentId}`, name, "agent");
  for (const [agentId, name] of Object.entries(run.models)) need(`models.${agentId}`, name, "model");
  if (run.sandbox !== undefined) need("sandbox", run.sandbox, "sandbox");
}
