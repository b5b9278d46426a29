import { createHash } from "node:crypto";
import { EpisodeStore } from "../episode/episode-store.js";
import type { Bindings, PeerAddress } from "../episode/peers.js";
import { type Clock, systemClock } from "../runtime/clock.js";
import { Channels } from "../runtime/dial.js";
import type { Logger } from "../runtime/log.js";
import { createRuntime } from "../runtime/runtime.js";
import { type RunningServer, serve } from "../runtime/serve.js";
import { ConfigError } from "./config-error.js";
import type { Config } from "./load-config.js";
import type { LoadedServer } from "./load-servers.js";
import { makeService } from "./make-service.js";
import { addressElsewhere, addressOf, listenOf, pathIn, tlsOf } from "./server-address.js";
import { limitsOf } from "./server-limits.js";
import type { ServerKind } from "./server-schema.js";
import { type ServerTelemetry, startTelemetryOf } from "./server-telemetry.js";
import { thrownText } from "./thrown-text.js";

/** A server that a configuration names: ours, started here, or somebody's that runs elsewhere. */
export interface StartedServer {
  readonly name: string;
  readonly kind: ServerKind;
  readonly address: PeerAddress;
  /** Absent for a server that runs elsewhere. */
  readonly running: RunningServer | undefined;
}

/** Servers of a configuration. */
export interface StartedServers extends AsyncDisposable {
  readonly servers: ReadonlyMap<string, StartedServer>;
  /** Drains and ends those that were started here: drivers first, since they need the others. */
  close(options?: { readonly drainTimeoutMs?: number }): Promise<void>;
}

/** How servers are started. */
export interface StartOptions {
  readonly config: Config;
  /** Those to start. */
  readonly loaded: ReadonlyMap<string, LoadedServer>;
  readonly log: Logger;
  readonly clock?: Clock;
}

/** Starts servers, those that others need first. Throws ConfigError; nothing is left then. */
export async function startServers(options: StartOptions): Promise<StartedServers> {
  const channels = new Channels();
  const telemetry = await startTelemetryOf(options.config);
  const started = new Map<string, StartedServer>();
  const close = async (how?: { readonly drainTimeoutMs?: number }): Promise<void> => {
    const all = [...started.values()];
    const end = async (servers: readonly StartedServer[]): Promise<void> => {
      await Promise.all(servers.map(({ running }) => running?.close(how)));
    };
    await end(all.filter(({ kind }) => kind === "episode"));
    await end(all.filter(({ kind }) => kind !== "episode"));
    await channels[Symbol.asyncDispose]();
    await telemetry?.[Symbol.asyncDispose]();
  };
  const driversLast = [...options.loaded.values()].sort((a, b) => turnOf(a) - turnOf(b));
  try {
    for (const server of driversLast)
      started.set(server.name, await startServer(server, { ...options, channels, started, telemetry }));
  } catch (error) {
    await close({ drainTimeoutMs: 0 });
    throw error;
  }
  return { servers: started, close, [Symbol.asyncDispose]: () => close({ drainTimeoutMs: 0 }) };
}

/** Whose turn it is to be started: a driver needs all others, one whose episodes are played elsewhere other drivers too. */
function turnOf({ implementation }: LoadedServer): number {
  if (implementation.kind !== "episode") return 0;
  return implementation.drivers.some(({ elsewhere }) => elsewhere !== undefined) ? 2 : 1;
}

interface StartContext extends StartOptions {
  readonly channels: Channels;
  readonly started: ReadonlyMap<string, StartedServer>;
  readonly telemetry: ServerTelemetry | undefined;
}

async function startServer(loaded: LoadedServer, context: StartContext): Promise<StartedServer> {
  const { name, kind, server, implementation } = loaded;
  const { config, log, clock, channels, telemetry } = context;
  if (implementation.kind === "elsewhere") {
    return { name, kind, address: addressOf(config, loaded, implementation.url), running: undefined };
  }
  const { drain_timeout: drainTimeoutMs, listen, credential, public_url: publicUrl } = server.entry;
  const store = storeOf(context, loaded);
  const runtime = createRuntime({
    log: log.child({ server: name }),
    ...(store === undefined ? {} : { instanceId: store.instanceId }),
    limits: limitsOf(server),
    ...(credential === undefined ? {} : { principals: { controllerToken: credential } }),
    ...("verifier_key" in server.entry && server.entry.verifier_key !== undefined
      ? { verifierKey: createHash("sha256").update(server.entry.verifier_key).digest() }
      : {}),
    ...(clock === undefined ? {} : { clock }),
    ...(telemetry === undefined ? {} : { observers: telemetry.observers(name) }),
  });
  const tls = tlsOf(config, server);
  try {
    const service = makeService(implementation, server, {
      runtime,
      dial: channels.dial,
      bindings: bindingsOf(context, name),
      store,
    });
    telemetry?.showLive(name, () => service.live());
    const running = await serve({
      runtime,
      services: [service],
      ...listenOf(listen),
      ...(tls === undefined ? {} : { tls }),
      ...(publicUrl === undefined ? {} : { publicUrl }),
      ...(drainTimeoutMs === undefined ? {} : { drainTimeoutMs }),
    });
    return {
      name,
      kind,
      address: addressOf(config, loaded, running.url),
      running: store === undefined ? running : closing(running, store),
    };
  } catch (error) {
    store?.close();
    if (error instanceof ConfigError) throw error;
    throw new ConfigError([`${config.file}: servers.${name}: ${thrownText(error)}`]);
  }
}

/** The file in which an episode server's episodes outlive it. Throws ConfigError where it cannot be used. */
function storeOf(
  { config, clock = systemClock }: StartContext,
  { name, server }: LoadedServer,
): EpisodeStore | undefined {
  if (server.kind !== "episode" || server.entry.records === undefined) return undefined;
  try {
    return new EpisodeStore(pathIn(config, server.entry.records), clock);
  } catch (error) {
    throw new ConfigError([`${config.file}: servers.${name}.records: ${thrownText(error)}`]);
  }
}

/** A server with whose end its records are closed. */
function closing(running: RunningServer, store: EpisodeStore): RunningServer {
  const close: RunningServer["close"] = async (how) => {
    await running.close(how);
    store.close();
  };
  return { url: running.url, close, [Symbol.asyncDispose]: () => close({ drainTimeoutMs: 0 }) };
}

/** What an episode server may bind: every other server of the configuration that is started, or known elsewhere. */
function bindingsOf({ started, config }: StartContext, own: string): Bindings {
  const known = [...config.servers].flatMap(([name, server]) => {
    if (name === own) return [];
    const address = started.get(name)?.address ?? addressElsewhere(config, { name, server });
    return address === undefined ? [] : [{ name, kind: server.kind, address }];
  });
  const of = (kind: ServerKind): Record<string, PeerAddress> =>
    Object.fromEntries(
      known.filter((server) => server.kind === kind).map(({ name, address }) => [name, address]),
    );
  return {
    environments: of("environment"),
    agents: of("agent"),
    models: of("model"),
    episodes: of("episode"),
    sandboxes: Object.keys(of("sandbox")),
  };
}
