import { randomBytes } from "node:crypto";
import { episodeClient, type RepeatChange } from "../clients/index.js";
import { Feature, type RunRequest } from "../gen/index.js";
import { ConfigError } from "../servers/composition/config-error.js";
import type { StartedServers } from "../servers/composition/start-servers.js";
import type { Clock } from "../servers/runtime/clock.js";
import type { Dial } from "../servers/runtime/dial.js";
import { toMs } from "../servers/runtime/duration.js";
import type { Benchmark } from "./benchmark.js";
import { collect, settled } from "./collect.js";
import { clientOptions, type RunDescribed, startedServer } from "./describe-servers.js";
import { embeddedQueue } from "./episode-queue.js";
import { type Plan, planEpisodes } from "./plan.js";
import { resolvedConfig } from "./resolved-config.js";
import { RolloutStore } from "./rollout-store.js";
import { holdsRun, runFiles, setApart, writeWhole } from "./run-folder.js";
import { checkIdentity, runIdentity } from "./run-identity.js";
import type { RunOptions, Variant } from "./run-options.js";
import { finish, type RunReport } from "./run-report.js";
import type { PlacedTask } from "./task-set.js";

/** What a run needs beside what it was told. */
export interface VariantContext extends RunOptions {
  readonly clock: Clock;
  readonly tasks: readonly PlacedTask[];
  readonly request: RunRequest;
  readonly benchmark: Benchmark | undefined;
  readonly connection: {
    readonly started: StartedServers;
    readonly dial: Dial;
    readonly described: RunDescribed;
  };
}

/** Runs the episodes of one run, or what is left of them, and computes its numbers. Throws ConfigError. */
export async function runVariant(variant: Variant, context: VariantContext): Promise<RunReport> {
  const { folder, settings, name } = variant;
  const { config, clock, log, resume, tasks, benchmark } = context;
  if (!resume && holdsRun(folder)) {
    // Opened first, since another process may be at work on it.
    await new RolloutStore({ folder, clock, log }).close();
    context.onNote?.(`${folder}: the run there is now in ${setApart(folder)}`);
  }
  const store = new RolloutStore({ folder, clock, log });
  try {
    const plan = planEpisodes(tasks, settings.repeats, store.runId ?? `run${randomBytes(6).toString("hex")}`);
    const identity = runIdentity(config, settings, tasks);
    if (store.identity === undefined)
      writeWhole(
        folder,
        runFiles.config,
        resolvedConfig(config, settings, { agent: variant.agent, tasks: context.changes.tasks }),
      );
    else checkIdentity(folder, store.identity, identity);
    checkKnown(folder, store, plan);
    store.begin({
      runId: plan.runId,
      identity: store.identity ?? identity,
      rolloutIds: plan.episodes.map(({ rolloutId }) => rolloutId),
    });
    const rows = [...store.rows().values()];
    const resumed = resume ? rows.filter(({ state }) => settled.includes(state)).length : undefined;
    const stopped = await collectAll(plan, store, variant, context);
    const servers = [...context.connection.started.servers];
    const urls = Object.fromEntries(servers.map(([server, { address }]) => [server, address.url]));
    return finish(plan, store, { name, folder, stopped, benchmark, tasks, settings, urls, resumed });
  } finally {
    await store.close();
  }
}

/** Refuses to go on with a folder whose verdicts are of other tasks, where the index that says so was lost. */
function checkKnown(folder: string, store: RolloutStore, plan: Plan): void {
  const planned = new Set(plan.episodes.map(({ rolloutId }) => rolloutId));
  const strange = [...store.rows().keys()].filter((rolloutId) => !planned.has(rolloutId));
  if (strange.length === 0) return;
  throw new ConfigError([
    `${folder}: holds ${strange.length} episodes that are not of these tasks, such as ${strange[0]}; resume it with the same, or choose another --out`,
  ]);
}

/** Phases of which each may leave something that is cleaned up: environment, gateway, agent. */
const cleanUps = 3;
/** Milliseconds that a driver has for a stopped episode beside its clean-ups. */
const stopSlackMs = 10_000;
/**
 * A driver whose episodes outlive its process is waited for while it is started anew: what it had scored is learnt, not
 * played again.
 */
const untilRestarted: RepeatChange = {
  attempts: Number.POSITIVE_INFINITY,
  withinMs: 30_000,
  maxDelayMs: 1000,
};
/** Bound of one clean-up where the driver declares none, in milliseconds. */
const defaultCleanUpMs = 30_000;

async function collectAll(
  plan: Plan,
  store: RolloutStore,
  { name, settings }: Variant,
  context: VariantContext,
): Promise<string | undefined> {
  const { connection, clock, request, stop, abandon, onBegin, onProgress, onStep } = context;
  const { started, dial, described } = connection;
  const driver = startedServer(started.servers, settings.driver);
  const { defaultTimeouts, service } = described.episode;
  const cleanUpMs = defaultTimeouts?.cleanUp === undefined ? defaultCleanUpMs : toMs(defaultTimeouts.cleanUp);
  const abandonMs = cleanUps * cleanUpMs + stopSlackMs;
  onBegin?.(name, { drainMs: settings.drain_timeout, cleanUpMs: abandonMs });
  return await collect({
    plan,
    store,
    queue: embeddedQueue,
    client: episodeClient(dial(driver.address), {
      ...clientOptions(driver),
      ...(service?.features.includes(Feature.DURABLE) === true ? { repeat: untilRestarted } : {}),
    }),
    clock,
    request,
    settings,
    // More than the driver takes would only wait in its queue, and be refused once that is too long.
    concurrency: Math.min(settings.concurrency, service?.limits?.maxSessions ?? settings.concurrency),
    abandonMs,
    stop,
    abandon,
    onProgress: (progress) => onProgress(name, progress),
    onStep: onStep === undefined ? undefined : (step) => onStep(name, step),
  });
}
