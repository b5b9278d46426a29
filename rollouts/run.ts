import { join } from "node:path";
import { environmentClient, systemClock as waitingClock } from "../clients/index.js";
import type { Config } from "../servers/composition/load-config.js";
import { type LoadedServer, loadServers } from "../servers/composition/load-servers.js";
import type { Players } from "../servers/composition/players.js";
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
import { checkFolder, checkResumable } from "./run-folder.js";
import type { RunOptions, Variant } from "./run-options.js";
import { runPlayers } from "./run-players.js";
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
  if (options.resume) checkResumable(options.out);
  const parts: Part[] = [];
  for (const named of configuredRuns(config)) parts.push(await prepare(named, options));
  const names = parts.flatMap(({ variants }) =>
    variants.flatMap(({ settings }) => serversOf(config, settings)),
  );
  const loaded = await loadServers(config, [...new Set(names)]);
  for (const part of parts) checkLocally(part, loaded);

  const channels = new Channels();
  let started: StartedServers | undefined;
  try {
    // An episode server elsewhere may know ours by where they listen.
    const fixedPorts = parts.some(({ variants }) =>
      variants.some(({ settings }) => settings.players.names === "theirs"),
    );
    started = await startServers({ config, loaded, log, purpose: "run", fixedPorts });
    const ready: Ready[] = [];
    const { servers } = started;
    for (const part of parts)
      ready.push(...(await composeAll(part, { servers, loaded, dial: channels.dial })));
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
  readonly sources: TaskSources;
  readonly files: ReadonlyMap<TaskSource, readonly PlacedTask[]>;
  readonly variants: readonly Variant[];
}

async function prepare({ name, config }: NamedRun, options: RunOptions): Promise<Part> {
  const configured = configuredRun(config);
  const sources = await taskSources(config, configured, options.changes.tasks);
  const out = name === undefined ? options.out : join(options.out, name);
  const { benchmark } = sources;
  const players = await runPlayers(config, configured, benchmark?.driver);
  const variants = variantsOf({ ...options, config, out }, { name, benchmark, players });
  const files = await readTaskFiles(sources.sources, sources.benchmark);
  return { config, sources, files, variants };
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
  { loaded, ...reached }: Reached & { readonly loaded: ReadonlyMap<string, LoadedServer> },
): Promise<readonly Ready[]> {
  const composed: Composed[] = [];
  for (const variant of part.variants) {
    const { settings } = variant;
    const needs = needsOf(loaded, settings.players);
    composed.push({ variant, described: { ...(await describeServers(settings, reached)), needs } });
  }
  const tasks = await allTasks(part, composed, reached);
  return composed.map((each) => ({ ...each, part, tasks, request: compose(part.config, each, tasks) }));
}

interface VariantOf {
  readonly name: string | undefined;
  readonly benchmark: Benchmark | undefined;
  readonly players: Players;
}

/** The runs that were asked for, one for each agent. Throws ConfigError. */
function variantsOf(
  { config, changes, out }: RunOptions,
  { name, benchmark, players }: VariantOf,
): readonly Variant[] {
  const configured = configuredRun(config);
  const named = [...new Set(changes.agents ?? [undefined])];
  return named.map((agent) => {
    const agents = agentsWith(configured, agent, { config, players });
    const folder = named.length > 1 && agent !== undefined ? join(out, agent) : out;
    checkFolder(folder);
    return {
      name: [
        ...(name === undefined ? [] : [name]),
        Object.values(agents).join("+") || configured.driver,
      ].join("/"),
      agent,
      settings: settle({ ...configured, agents }, changes, { config, benchmark, players }),
      folder,
    };
  });
}

/** Lets an environment that runs here read every task, before anything is started. Throws ConfigError. */
function checkLocally(
  { config, files, sources, variants }: Part,
  loaded: ReadonlyMap<string, LoadedServer>,
): void {
  const tasks = [...files.values()].flat();
  checkDistinct(tasks);
  const environment = loaded.get(variants[0]?.settings.environment ?? "");
  if (environment?.implementation.kind !== "environment") return;
  const { definition } = environment.implementation;
  const found = { name: definition.name, server: environment.name };
  if (sources.benchmark !== undefined) checkEnvironment(sources.benchmark, found, config);
  forEnvironment(tasks, found);
  checkTasks(tasks, definition);
}

interface Composed {
  readonly variant: Variant;
  readonly described: RunDescribed;
}

/** Servers that can be called. */
interface Reached {
  readonly servers: StartedServers["servers"];
  readonly dial: Dial;
}

/** The tasks of all sources, in their order. Throws ConfigError. */
async function allTasks(
  { config, files, sources: { sources, benchmark } }: Part,
  [first]: readonly Composed[],
  { servers, dial }: Reached,
): Promise<readonly PlacedTask[]> {
  if (first === undefined) return [];
  const { described, variant } = first;
  const { environment } = variant.settings;
  const tasks: PlacedTask[] = [];
  for (const source of sources) {
    if (source.from === "file") tasks.push(...(files.get(source) ?? []));
    else {
      if (described.environment === undefined)
        throw source.refuse(
          `environment "${environment}" is known only where the episodes are played; give a file`,
        );
      const server = startedServer(servers, environment);
      const client = environmentClient(dial(server.address), clientOptions(server));
      tasks.push(...(await listTasks(source, { client, described: described.environment })));
    }
  }
  checkDistinct(tasks);
  if (described.environment === undefined) {
    // Whoever plays them judges what they are for.
    for (const { task } of tasks) task.environment ||= environment;
    return tasks;
  }
  const found = { name: described.environment.environment, server: environment };
  if (benchmark !== undefined) checkEnvironment(benchmark, found, config);
  forEnvironment(tasks, found);
  return tasks;
}

/** What is asked of every episode of a run. Throws ConfigError where its servers cannot work together on its tasks. */
function compose(
  config: Config,
  { variant: { settings }, described }: Composed,
  tasks: readonly PlacedTask[],
) {
  const request = requestOf(settings, described);
  checkComposition(config, settings, { request, described });
  checkSizes(planEpisodes(tasks, 1, "check"), request, described);
  return request;
}
