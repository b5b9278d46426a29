import { join } from "node:path";
import { environmentClient, systemClock as waitingClock } from "../clients/index.js";
import { type LoadedServer, loadServers } from "../servers/composition/load-servers.js";
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
import { agentsWith, configuredRun, serversOf, settle } from "./run-settings.js";
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
  const { config, changes, log, clock = runClock } = options;
  const configured = configuredRun(config);
  const sources = await taskSources(config, configured, changes.tasks);
  const variants = variantsOf(options, sources.benchmark);
  const names = variants.flatMap(({ settings }) => serversOf(settings));
  const loaded = await loadServers(config, [...new Set(names)]);
  const files = await readTaskFiles(sources.sources, sources.benchmark);
  checkLocally([...files.values()].flat(), loaded.get(configured.environment), sources.benchmark);

  const channels = new Channels();
  let started: StartedServers | undefined;
  try {
    started = await startServers({ config, loaded, log });
    const composed: Composed[] = [];
    for (const variant of variants) {
      const { settings } = variant;
      const needs = needsOf(loaded.get(settings.driver), settings.driverName);
      const described = { ...(await describeServers(settings, started, channels.dial)), needs };
      composed.push({ variant, described });
    }
    const tasks = await allTasks(sources, files, { started, dial: channels.dial, composed });
    const ready = composed.map((each) => ({ ...each, request: compose(each, tasks) }));
    const reports: RunReport[] = [];
    for (const { variant, described, request } of ready) {
      if (options.stop.aborted) break;
      const { benchmark } = sources;
      const connection = { started, dial: channels.dial, described };
      reports.push(await runVariant(variant, { ...options, clock, tasks, request, benchmark, connection }));
    }
    return reports;
  } finally {
    await started?.close({ drainTimeoutMs: 0 });
    await channels[Symbol.asyncDispose]();
  }
}

/** The runs that were asked for, one for each agent. Throws ConfigError. */
function variantsOf(
  { config, changes, out }: RunOptions,
  benchmark: Benchmark | undefined,
): readonly Variant[] {
  const configured = configuredRun(config);
  const named = [...new Set(changes.agents ?? [undefined])];
  return named.map((agent) => {
    const agents = agentsWith(config, configured, agent);
    const folder = named.length > 1 && agent !== undefined ? join(out, agent) : out;
    checkFolder(folder);
    return {
      name: Object.values(agents).join("+"),
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
