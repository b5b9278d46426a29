import { randomBytes } from "node:crypto";
import { stringify } from "yaml";
import { episodeClient } from "../clients/index.js";
import { ConfigError } from "../servers/composition/config-error.js";
import { choose, findEnvironment } from "../servers/composition/implementations.js";
import type { Config } from "../servers/composition/load-config.js";
import { type StartedServers, startServers } from "../servers/composition/start-servers.js";
import { withoutSecrets } from "../servers/composition/variables.js";
import { Channels } from "../servers/runtime/dial.js";
import type { Logger } from "../servers/runtime/log.js";
import { Breaker } from "./breaker.js";
import { embeddedQueue } from "./episode-queue.js";
import { computeMetrics, type Metrics } from "./metrics.js";
import { type Plan, planEpisodes } from "./plan.js";
import { checkCast, describeAll, takesReference } from "./preflight.js";
import { changedRun, type RunChanges, requestOf, serversOf, tasksOf } from "./prepare.js";
import { failureRecord, rolloutRecord } from "./rollout-record.js";
import { holdsRun, RolloutStore, setApart } from "./rollout-store.js";
import { runEpisode } from "./run-episode.js";

/** What a run is told. */
export interface RunOptions {
  readonly config: Config;
  readonly changes: RunChanges;
  /** Folder of the run's files. */
  readonly out: string;
  /** Go on with the run that the folder holds. */
  readonly resume: boolean;
  readonly log: Logger;
  /** Aborts to stop: what runs is abandoned and cleaned up, nothing new is begun. */
  readonly signal: AbortSignal;
  /** Told of each episode that has ended. */
  readonly onProgress?: (progress: RunProgress) => void;
}

/** How far a run is. */
export interface RunProgress {
  readonly done: number;
  readonly total: number;
  readonly scored: number;
  readonly failed: number;
  readonly rewardSum: number;
}

/** How a run ended. */
export interface RunReport {
  readonly metrics: Metrics;
  readonly folder: string;
  /** Why it stopped before its end; absent: it did not. */
  readonly stopped: string | undefined;
  /** Names of the agents that played. */
  readonly agents: readonly string[];
}

/** Runs every planned episode to its verdict and lands it: plan, queue, land. Throws ConfigError for bad input. */
export async function run(options: RunOptions): Promise<RunReport> {
  const { config, changes, log } = options;
  const settings = changedRun(config, changes);
  const channels = new Channels();
  let started: StartedServers | undefined;
  let store: RolloutStore | undefined;
  try {
    // Everything that can be found wrong without a server is found before one is started.
    const local = await localEnvironment(config, settings.environment);
    const taskOptions = { folder: config.folder, file: changes.tasks, definition: local };
    const early =
      local === undefined ? undefined : await tasksOf(settings, { ...taskOptions, environment: local.name });
    started = await startServers({ config, only: serversOf(settings), log });
    const described = await describeAll(settings, started, channels.dial);
    const tasks =
      early ?? (await tasksOf(settings, { ...taskOptions, environment: described.environment.environment }));
    const request = requestOf(settings, takesReference(described));
    checkCast(request, described);
    if (!options.resume && holdsRun(options.out)) setApart(options.out);
    store = new RolloutStore(options.out);
    const plan = planEpisodes(tasks, settings.repeats, store.runId ?? newRunId());
    if (!options.resume || !holdsRun(options.out)) {
      store.write("config.yaml", stringify({ ...(withoutSecrets(config.written) as object), run: settings }));
    }
    const driver = started.servers.get(settings.driver);
    if (driver === undefined) throw new ConfigError([`server "${settings.driver}" was not started`]);
    const client = episodeClient(channels.dial(driver.address), {
      ...(driver.address.credential === undefined
        ? {}
        : { headers: { authorization: `Bearer ${driver.address.credential}` } }),
    });
    return await collect({ options, plan, store, client, request, settings });
  } finally {
    await store?.close();
    await started?.close({ drainTimeoutMs: 0 });
    await channels[Symbol.asyncDispose]();
  }
}

function newRunId(): string {
  return `run${randomBytes(6).toString("hex")}`;
}

/** The world itself, where the configuration says that it runs here. */
async function localEnvironment(config: Config, name: string) {
  const server = config.servers.get(name);
  if (server?.kind !== "environment") return undefined;
  const { environment, options = {} } = server.entry;
  return await findEnvironment(choose(environment), {
    at: `servers.${name}`,
    folder: config.folder,
    options,
  });
}

interface CollectContext {
  readonly options: RunOptions;
  readonly plan: Plan;
  readonly store: RolloutStore;
  readonly client: ReturnType<typeof episodeClient>;
  readonly request: ReturnType<typeof requestOf>;
  readonly settings: ReturnType<typeof changedRun>;
}

async function collect({
  options,
  plan,
  store,
  client,
  request,
  settings,
}: CollectContext): Promise<RunReport> {
  const progress = store.begin(plan);
  const todo = plan.episodes.filter(({ rolloutId }) => !progress.ended.has(rolloutId));
  const breaker = new Breaker(settings.breaker);
  const signal = AbortSignal.any([options.signal, breaker.signal]);
  const state = {
    done: plan.episodes.length - todo.length,
    total: plan.episodes.length,
    scored: 0,
    failed: 0,
    rewardSum: 0,
  };
  const tell = (): void => options.onProgress?.({ ...state });
  tell();
  await embeddedQueue.drain({
    episodes: todo,
    concurrency: settings.concurrency,
    signal,
    async work(episode) {
      const next = await runEpisode(episode, {
        client,
        request,
        attempts: (progress.attempts.get(episode.rolloutId) ?? 0) + settings.attempts,
        firstAttempt: progress.attempts.get(episode.rolloutId) ?? 0,
        signal,
        onAttempt: (attempt) => store.attempt(episode.rolloutId, attempt),
        onEnd(result, follows) {
          if (follows !== "verdict") {
            store.fail(failureRecord(result, follows === "failed" || follows === "exhausted"));
            return;
          }
          const record = rolloutRecord(result);
          store.land(record);
          if (record.reward !== null && record.masked === null) {
            state.scored += 1;
            state.rewardSum += record.reward;
          }
          acknowledge(client, result.episode.rolloutId, result.attempt);
        },
      });
      breaker.ended(next === "exhausted");
      if (next === "failed" || next === "exhausted") state.failed += 1;
      if (next !== "stopped") state.done += 1;
      tell();
    },
  });
  await store.sync();
  const { rollouts, failures } = store.read();
  const metrics = computeMetrics(rollouts, failures, plan.episodes.length);
  store.write(
    "metrics.json",
    `${JSON.stringify({ run_id: plan.runId, agents: settings.agents, ...metrics }, null, 2)}\n`,
  );
  return {
    metrics,
    folder: options.out,
    stopped: breaker.signal.aborted
      ? `${settings.breaker} episodes in a row used up their attempts on infrastructure`
      : options.signal.aborted
        ? "it was asked to stop"
        : undefined,
    agents: Object.values(settings.agents),
  };
}

/** Tells the episode server that the outcome is stored; whether it hears of it changes nothing. */
function acknowledge(client: ReturnType<typeof episodeClient>, rolloutId: string, attempt: number): void {
  client.ack({ episodeId: { rolloutId, attempt } }).catch(() => undefined);
}
