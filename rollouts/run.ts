import { join } from "node:path";
import { environmentClient, systemClock as waitingClock } from "../clients/index.js";
import type { Config } from "../servers/composition/load-config.js";
import { type LoadedServer, loadServers } from "../servers/composition/load-servers.js";
import type { RunConfig } from "../servers/composition/run-schema.js";
import { type StartedServers, startServers } from "../servers/composition/start-servers.js";
import { type Clock, systemClock } from "../servers/runtime/clock.js";
import { Channels, type Dial } from "../servers/runtime/dial.js";
import { type Benchmark, checkEnvironment } from "./benchmark.js";
import { checkComposition, checkSizes } from "./check-composition.js";
import {
  clientOptions,
  describeServers,
  needsOf,
  type RunDescribed,
  startedServer,
} from "./describe-servers.js";
import { listTasks } from "./list-tasks.js";
import { planEpisodes } from "./plan.js";
import { checkFolder } from "./run-folder.js";
import type { RunOptions, Variant } from "./run-options.js";
import type { RunReport } from "./run-report.js";
import { requestOf } from "./run-request.js";
import {
  agentsWith,
  configuredRun,
  configuredRuns,
  type NamedRun,
  serversOf,
  settle,
} from "./run-settings.js";
import { runVariant } from "./run-variant.js";
import { checkDistinct, checkTasks, forEnvironment, type PlacedTask, readTaskFiles } from "./task-set.js";
import { type TaskSource, type TaskSources, taskSources } from "./task-source.js";

/** The machine's time. Waits of a run keep the process alive: between two attempts there may be nothing else that does. */
const runClock: Clock = { ...systemClock, setTimer: waitingClock.setTimer };

/**
 * Runs every planned episode to its verdict and lands it: plan, queue, land; once for each agent that was named.
 * Everything that can be found wrong is found before anything is started or written. Throws ConfigError.
 */
export async function run(options: RunOptions): Promise<RunReport[]> {
  const { config, log, clock = runClock } = options;
  const parts: Part[] = [];
  for (const named of configuredRuns(config)) parts.push(await prepare(named, options));
  const names = parts.flatMap(({ variants }) => variants.flatMap(({ settings }) => serversOf(settings)));
  const loaded = await loadServers(config, [...new Set(names)]);
  for (const { configured, sources, files } of parts) {
    checkLocally([...files.values()].flat(), loaded.get(configured.environment), sources.benchmark);
  }

  const channels = new Channels();
  let started: StartedServers | undefined;
  try {
    started = await startServers({ config, loaded, log });
    const ready: Ready[] = [];
    for (const part of parts)
      ready.push(...(await composeAll(part, { started, loaded, dial: channels.dial })));
    const reports: RunReport[] = [];
    for (const { part, variant, described, request, tasks } of ready) {
      if (options.stop.aborted) break;
      const { benchmark } = part.sources;
      const connection = { started, dial: channels.dial, described };
      const own = { ...options, config: part.config, clock };
      reports.push(await runVariant(variant, { ...own, tasks, request, benchmark, connection }));
    }
    return reports;
  } finally {
    await started?.close({ drainTimeoutMs: 0 });
    await channels[Symbol.asyncDispose]();
  }
}

/** One run of the configuration, read and not yet begun. */
interface Part {
  readonly config: Config;
  readonly configured: RunConfig;
  readonly sources: TaskSources;
  readonly files: ReadonlyMap<TaskSource, readonly PlacedTask[]>;
  readonly variants: readonly Variant[];
}

async function prepare({ name, config }: NamedRun, options: RunOptions): Promise<Part> {
  const configured = configuredRun(config);
  const sources = await taskSources(config, configured, options.changes.tasks);
  const out = name === undefined ? options.out : join(options.out, name);
  const variants = variantsOf({ ...options, config, out }, { name, benchmark: sources.benchmark });
  const files = await readTaskFiles(sources.sources, sources.benchmark);
  return { config, configured, sources, files, variants };
}

/** A variant of a run with all that its episodes need. */
interface Ready extends Composed {
  readonly part: Part;
  readonly tasks: readonly PlacedTask[];
  readonly request: ReturnType<typeof compose>;
}

/** Asks the servers of a run what they are, reads its tasks, and checks that they go together. Throws ConfigError. */
async function composeAll(
  part: Part,
  servers: {
    readonly started: StartedServers;
    readonly loaded: ReadonlyMap<string, LoadedServer>;
    readonly dial: Dial;
  },
): Promise<readonly Ready[]> {
  const { started, loaded, dial } = servers;
  const composed: Composed[] = [];
  for (const variant of part.variants) {
    const { settings } = variant;
    const needs = needsOf(loaded.get(settings.driver), settings.driverName);
    composed.push({ variant, described: { ...(await describeServers(settings, started, dial)), needs } });
  }
  const tasks = await allTasks(part.sources, part.files, { started, dial, composed });
  return composed.map((each) => ({ ...each, part, tasks, request: compose(each, tasks) }));
}

/** The runs that were asked for, one for each agent. Throws ConfigError. */
function variantsOf(
  { config, changes, out }: RunOptions,
  { name, benchmark }: { readonly name: string | undefined; readonly benchmark: Benchmark | undefined },
): readonly Variant[] {
  const configured = configuredRun(config);
  const named = [...new Set(changes.agents ?? [undefined])];
  return named.map((agent) => {
    const agents = agentsWith(config, configured, agent);
    const folder = named.length > 1 && agent !== undefined ? join(out, agent) : out;
    checkFolder(folder);
    return {
      name: [...(name === undefined ? [] : [name]), Object.values(agents).join("+")].join("/"),
      agent,
      settings: settle({ ...configured, agents }, changes, benchmark),
      folder,
    };
  });
}

/** Lets an environment that runs here read every task, before anything is started. Throws ConfigError. */
function checkLocally(
  tasks: readonly PlacedTask[],
  environment: LoadedServer | undefined,
  benchmark: Benchmark | undefined,
): void {
  checkDistinct(tasks);
  if (environment?.implementation.kind !== "environment") return;
  const { definition } = environment.implementation;
  if (benchmark !== undefined) checkEnvironment(benchmark, definition.name, environment.name);
  forEnvironment(tasks, { name: definition.name, server: environment.name });
  checkTasks(tasks, definition);
}

interface Composed {
  readonly variant: Variant;
  readonly described: RunDescribed;
}

/** The tasks of all sources, in their order. Throws ConfigError. */
async function allTasks(
  { sources, benchmark }: TaskSources,
  files: ReadonlyMap<TaskSource, readonly PlacedTask[]>,
  servers: { readonly started: StartedServers; readonly dial: Dial; readonly composed: readonly Composed[] },
): Promise<readonly PlacedTask[]> {
  const { started, dial, composed } = servers;
  const [first] = composed;
  if (first === undefined) return [];
  const { environment: described } = first.described;
  const server = startedServer(started, first.variant.settings.environment);
  const tasks: PlacedTask[] = [];
  for (const source of sources) {
    if (source.from === "file") tasks.push(...(files.get(source) ?? []));
    else {
      const client = environmentClient(dial(server.address), clientOptions(server));
      tasks.push(...(await listTasks(source, { client, described })));
    }
  }
  checkDistinct(tasks);
  if (benchmark !== undefined) checkEnvironment(benchmark, described.environment, server.name);
  forEnvironment(tasks, { name: described.environment, server: server.name });
  return tasks;
}

/** What is asked of every episode of a run. Throws ConfigError where its servers cannot work together on its tasks. */
function compose({ variant: { settings }, described }: Composed, tasks: readonly PlacedTask[]) {
  const request = requestOf(settings, described);
  checkComposition(settings, request, described);
  checkSizes(planEpisodes(tasks, 1, "check"), request, described);
  return request;
}
