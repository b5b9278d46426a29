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
import { addressElsewhere, addressOf, isLoopback, listenOf, pathIn, tlsOf } from "./server-address.js";
import { limitsOf } from "./server-limits.js";
import type { ServerEntry, ServerKind } from "./server-schema.js";
import { type ServerTelemetry, startTelemetryOf } from "./server-telemetry.js";
import { startOrder } from "./start-order.js";
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
  /** Drains and ends those that were started here, each before those that it needs. */
  close(options?: { readonly drainTimeoutMs?: number }): Promise<void>;
}

/** How servers are started. */
export interface StartOptions {
  readonly config: Config;
  /** Those to start. */
  readonly loaded: ReadonlyMap<string, LoadedServer>;
  readonly log: Logger;
  readonly clock?: Clock;
  /** What for. Default: serve. */
  readonly purpose?: Purpose;
  /** With purpose `run`: all listen where the configuration says, since somebody elsewhere may know them by that. */
  readonly fixedPorts?: boolean;
}

/**
 * What servers are started for:
 *
 * - `serve`: all is as configured;
 * - `run`: this process's own calls. They may be served at the same time: one that listens on loopback takes a free port
 *   there instead of its own, unless it has a `public_url` or `fixedPorts` says otherwise, and its callers are told
 *   where it is;
 * - `describe`: to be asked what they are. All take free ports, and nothing is recorded or told to the outside.
 */
export type Purpose = "serve" | "run" | "describe";

/** Starts servers, those that others need first. Throws ConfigError; nothing is left then. */
export async function startServers(options: StartOptions): Promise<StartedServers> {
  const channels = new Channels();
  const { config, log, purpose = "serve" } = options;
  const started = new Map<string, StartedServer>();
  const order = startOrder(options.loaded);
  const telemetry =
    purpose === "describe" ? undefined : await startTelemetryOf(config, { own: purpose === "serve", log });
  const close = async (how?: { readonly drainTimeoutMs?: number }): Promise<void> => {
    const ended = new Map<string, Promise<void>>();
    for (const { server } of order.toReversed()) {
      const before = order.filter(({ needs }) => needs.includes(server.name));
      const others = before.map((other) => ended.get(other.server.name));
      ended.set(
        server.name,
        Promise.allSettled(others).then(() => started.get(server.name)?.running?.close(how)),
      );
    }
    // One that cannot end well keeps none of the others from ending.
    const ends = await Promise.allSettled(ended.values());
    ends.push(...(await Promise.allSettled([channels[Symbol.asyncDispose]()])));
    ends.push(...(await Promise.allSettled([telemetry?.[Symbol.asyncDispose]()])));
    const failed = ends.find((end) => end.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  };
  try {
    for (const { server } of order)
      started.set(server.name, await startServer(server, { ...options, channels, started, telemetry }));
  } catch (error) {
    await close({ drainTimeoutMs: 0 });
    throw error;
  }
  return { servers: started, close, [Symbol.asyncDispose]: () => close({ drainTimeoutMs: 0 }) };
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
  const { drain_timeout: drainTimeoutMs, credential, public_url: publicUrl } = server.entry;
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
    const bindings = bindingsOf(context, name);
    const { dial } = channels;
    const servers = new Map(Object.entries(bindings.environments));
    const made =
      implementation.kind === "composed"
        ? ({
            kind: "environment",
            definition: await implementation.compose({ dial, clock: runtime.clock, servers }),
          } as const)
        : implementation;
    const service = makeService(made, server, {
      runtime,
      dial,
      bindings,
      store,
      watch: telemetry?.episodes(name),
    });
    telemetry?.showLive(name, () => service.live());
    const running = await serve({
      runtime,
      services: [service],
      ...listenFor(context, server),
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

/** Where a server listens. */
function listenFor(
  { purpose = "serve", fixedPorts = false }: StartOptions,
  { entry }: ServerEntry,
): { readonly host?: string; readonly port?: number } {
  const at = listenOf(entry.listen);
  if (purpose === "serve" || (purpose === "run" && fixedPorts) || at.host === undefined) return at;
  const found = entry.public_url !== undefined || !isLoopback(at.host);
  return purpose === "run" && found ? at : { ...at, port: 0 };
}

/** The file in which an episode server's episodes outlive it. Throws ConfigError where it cannot be used. */
function storeOf(
  { config, clock = systemClock, purpose }: StartContext,
  { name, server }: LoadedServer,
): EpisodeStore | undefined {
  if (server.kind !== "episode" || server.entry.records === undefined || purpose === "describe")
    return undefined;
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
