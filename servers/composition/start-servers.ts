import { agentService } from "../agent/agent-service.js";
import type { EnvironmentDefinition } from "../environment/define-environment.js";
import { environmentService } from "../environment/environment-service.js";
import { episodeService } from "../episode/episode-service.js";
import type { Bindings, PeerAddress } from "../episode/peers.js";
import { modelService } from "../model/model-service.js";
import type { Clock } from "../runtime/clock.js";
import { definedFields } from "../runtime/defined-fields.js";
import { Channels } from "../runtime/dial.js";
import type { Limits } from "../runtime/limits.js";
import type { Logger } from "../runtime/log.js";
import { createRuntime, type Runtime } from "../runtime/runtime.js";
import { type RunningServer, serve } from "../runtime/serve.js";
import type { HeldService } from "../runtime/server.js";
import { packageVersion } from "../runtime/version.js";
import { ConfigError } from "./config-error.js";
import type { EpisodeEntry, ServerEntry, ServerKind } from "./config-schema.js";
import { choose, findAgent, findDrivers, findEnvironment, findModel, type Place } from "./implementations.js";
import type { Config } from "./load-config.js";

/** A server that a configuration names: ours, started here, or somebody's that runs elsewhere. */
export interface StartedServer {
  readonly name: string;
  readonly kind: ServerKind;
  readonly address: PeerAddress;
  /** Absent for a server that runs elsewhere. */
  readonly running: RunningServer | undefined;
  /** The world itself, where it runs here: its tasks can be read before anything is asked of it. */
  readonly environment: EnvironmentDefinition<unknown, unknown> | undefined;
}

/** All servers of a configuration. */
export interface StartedServers extends AsyncDisposable {
  readonly servers: ReadonlyMap<string, StartedServer>;
  /** Drains and ends those that were started here: drivers first, since they need the others. */
  close(options?: { readonly drainTimeoutMs?: number }): Promise<void>;
}

/** How servers are started. */
export interface StartOptions {
  readonly config: Config;
  /** Names to start; absent: all. */
  readonly only?: readonly string[];
  readonly log: Logger;
  readonly clock?: Clock;
}

/** Starts the servers of a configuration, those that others need first. Throws ConfigError; nothing is left then. */
export async function startServers(options: StartOptions): Promise<StartedServers> {
  const { config, only } = options;
  const unknown = (only ?? []).filter((name) => !config.servers.has(name));
  if (unknown.length > 0) {
    const known = [...config.servers.keys()].join(", ");
    throw new ConfigError(unknown.map((name) => `${config.file}: no server "${name}"; known: ${known}`));
  }
  const channels = new Channels();
  const started = new Map<string, StartedServer>();
  const close = async (how?: { readonly drainTimeoutMs?: number }): Promise<void> => {
    const running = [...started.values()].reverse().flatMap((server) => server.running ?? []);
    for (const server of running) await server.close(how);
    await channels[Symbol.asyncDispose]();
  };
  // Episode servers bind the others, so they come last.
  const order = [...config.servers].sort(
    ([, a], [, b]) => Number(a.kind === "episode") - Number(b.kind === "episode"),
  );
  try {
    for (const [name, entry] of order) {
      if (only !== undefined && !only.includes(name)) continue;
      started.set(name, await startServer(name, entry, { ...options, channels, started }));
    }
  } catch (error) {
    await close({ drainTimeoutMs: 0 });
    throw error;
  }
  return { servers: started, close, [Symbol.asyncDispose]: () => close({ drainTimeoutMs: 0 }) };
}

interface StartContext extends StartOptions {
  readonly channels: Channels;
  readonly started: ReadonlyMap<string, StartedServer>;
}

async function startServer(name: string, server: ServerEntry, context: StartContext): Promise<StartedServer> {
  const { kind, entry } = server;
  const value =
    kind === "episode" ? episodeValue(server.entry) : (entry as unknown as Record<ServerKind, string>)[kind];
  const chosen = choose(value);
  const credential = entry.credential === undefined ? {} : { credential: entry.credential };
  if (chosen.way === "url") {
    return {
      name,
      kind,
      address: { url: chosen.url, ...credential },
      running: undefined,
      environment: undefined,
    };
  }
  const runtime = createRuntime({
    log: context.log.child({ server: name }),
    limits: limitsOf(server),
    ...(context.clock === undefined ? {} : { clock: context.clock }),
  });
  const place: Place = { at: `servers.${name}`, folder: context.config.folder, options: entry.options ?? {} };
  const made = await makeService(server, { runtime, place, context });
  const { host, port } = listenOf(entry.listen);
  try {
    const running = await serve({
      runtime,
      services: [made.service],
      ...(host === undefined ? {} : { host }),
      ...(port === undefined ? {} : { port }),
      ...(entry.tls === undefined
        ? {}
        : {
            tls: {
              cert: entry.tls.cert,
              key: entry.tls.key,
              ...(entry.tls.client_ca === undefined ? {} : { clientCa: entry.tls.client_ca }),
            },
          }),
      ...(entry.drain_timeout === undefined ? {} : { drainTimeoutMs: entry.drain_timeout }),
    });
    return {
      name,
      kind,
      address: { url: running.url, ...credential },
      running,
      environment: made.environment,
    };
  } catch (error) {
    throw new ConfigError([`servers.${name}: ${error instanceof Error ? error.message : String(error)}`]);
  }
}

function episodeValue({ episode }: EpisodeEntry): string {
  return typeof episode === "string" ? episode : (episode[0] ?? "");
}

interface Made {
  readonly service: HeldService;
  readonly environment?: EnvironmentDefinition<unknown, unknown>;
}

async function makeService(
  server: ServerEntry,
  { runtime, place, context }: { runtime: Runtime; place: Place; context: StartContext },
): Promise<Made> {
  const { dial } = context.channels;
  switch (server.kind) {
    case "environment": {
      const definition = await findEnvironment(choose(server.entry.environment), place);
      if (definition === undefined) break;
      return { service: environmentService(definition, runtime), environment: definition };
    }
    case "agent": {
      const definition = await findAgent(choose(server.entry.agent), place);
      if (definition === undefined) break;
      return { service: agentService({ definition, runtime, dial, defaults: place.options }) };
    }
    case "model": {
      const definition = await findModel(choose(server.entry.model), place);
      if (definition === undefined) break;
      const { max_concurrent_calls: maxConcurrentCalls, queue_timeout: queueTimeoutMs } = server.entry;
      return {
        service: modelService({
          definition,
          runtime,
          ...(maxConcurrentCalls === undefined ? {} : { maxConcurrentCalls }),
          ...(queueTimeoutMs === undefined ? {} : { queueTimeoutMs }),
        }),
      };
    }
    case "episode": {
      const { episode } = server.entry;
      const drivers = await findDrivers(typeof episode === "string" ? [episode] : episode, place);
      return {
        service: episodeService({
          runtime,
          drivers,
          dial,
          bindings: bindingsOf(context),
          timeouts: timeoutsOf(server.entry),
          version: packageVersion,
        }),
      };
    }
    case "sandbox":
      throw new ConfigError([`${place.at}: there is no sandbox of ours yet; give the URL of a server`]);
  }
  throw new Error(`${place.at} names nothing to start`);
}

/** What an episode server may bind: every other server, by its name. */
function bindingsOf({ started, config }: StartContext): Bindings {
  const of = (kind: ServerKind): Record<string, PeerAddress> =>
    Object.fromEntries([...started.values()].filter((s) => s.kind === kind).map((s) => [s.name, s.address]));
  return {
    environments: of("environment"),
    agents: of("agent"),
    models: of("model"),
    sandboxes: [...config.servers].filter(([, { kind }]) => kind === "sandbox").map(([name]) => name),
  };
}

function limitsOf({ kind, entry }: ServerEntry): Partial<Limits> {
  if (kind === "episode") {
    return definedFields({
      maxSessions: entry.max_concurrent_episodes,
      queueTimeoutMs: entry.queue_timeout,
      maxMessageBytes: entry.max_message_bytes,
    });
  }
  return definedFields({
    maxSessions: entry.max_sessions,
    queueTimeoutMs: entry.queue_timeout,
    maxLifetimeMs: entry.max_lifetime,
    maxMessageBytes: entry.max_message_bytes,
  });
}

function timeoutsOf(entry: EpisodeEntry): Parameters<typeof episodeService>[0]["timeouts"] & object {
  return definedFields({
    queueMs: entry.queue_timeout,
    episodeMs: entry.episode_timeout,
    seedMs: entry.seed_timeout,
    openMs: entry.open_timeout,
    activationMs: entry.activation_timeout,
    verificationMs: entry.verification_timeout,
    cleanUpMs: entry.cleanup_timeout,
  });
}

/** `host:port`, `[::1]:port`. */
function listenOf(listen: string | undefined): { host: string | undefined; port: number | undefined } {
  if (listen === undefined) return { host: undefined, port: undefined };
  const at = listen.lastIndexOf(":");
  return { host: listen.slice(0, at).replace(/^\[|\]$/g, ""), port: Number(listen.slice(at + 1)) };
}
