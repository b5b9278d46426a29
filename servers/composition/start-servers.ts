import type { Bindings, PeerAddress } from "../episode/peers.js";
import type { Clock } from "../runtime/clock.js";
import { Channels } from "../runtime/dial.js";
import type { Logger } from "../runtime/log.js";
import { createRuntime } from "../runtime/runtime.js";
import { type RunningServer, serve } from "../runtime/serve.js";
import { ConfigError } from "./config-error.js";
import type { Config } from "./load-config.js";
import type { LoadedServer } from "./load-servers.js";
import { makeService } from "./make-service.js";
import { addressElsewhere, addressOf, listenOf, tlsOf } from "./server-address.js";
import { limitsOf } from "./server-limits.js";
import type { ServerKind } from "./server-schema.js";

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
  const started = new Map<string, StartedServer>();
  const close = async (how?: { readonly drainTimeoutMs?: number }): Promise<void> => {
    const all = [...started.values()];
    const end = async (servers: readonly StartedServer[]): Promise<void> => {
      await Promise.all(servers.map(({ running }) => running?.close(how)));
    };
    await end(all.filter(({ kind }) => kind === "episode"));
    await end(all.filter(({ kind }) => kind !== "episode"));
    await channels[Symbol.asyncDispose]();
  };
  const driversLast = [...options.loaded.values()].sort(
    (a, b) => Number(a.kind === "episode") - Number(b.kind === "episode"),
  );
  try {
    for (const server of driversLast)
      started.set(server.name, await startServer(server, { ...options, channels, started }));
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

async function startServer(loaded: LoadedServer, context: StartContext): Promise<StartedServer> {
  const { name, kind, server, implementation } = loaded;
  const { config, log, clock, channels } = context;
  if (implementation.kind === "elsewhere") {
    return { name, kind, address: addressOf(config, loaded, implementation.url), running: undefined };
  }
  const runtime = createRuntime({
    log: log.child({ server: name }),
    limits: limitsOf(server),
    ...(clock === undefined ? {} : { clock }),
  });
  const { drain_timeout: drainTimeoutMs, listen } = server.entry;
  const tls = tlsOf(config, server);
  try {
    const service = makeService(implementation, server, {
      runtime,
      dial: channels.dial,
      bindings: bindingsOf(context),
    });
    const running = await serve({
      runtime,
      services: [service],
      ...listenOf(listen),
      ...(tls === undefined ? {} : { tls }),
      ...(drainTimeoutMs === undefined ? {} : { drainTimeoutMs }),
    });
    return { name, kind, address: addressOf(config, loaded, running.url), running };
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw new ConfigError([
      `${config.file}: servers.${name}: ${error instanceof Error ? error.message : String(error)}`,
    ]);
  }
}

/** What an episode server may bind: every other server of the configuration that is started, or known elsewhere. */
function bindingsOf({ started, config }: StartContext): Bindings {
  const known = [...config.servers].flatMap(([name, server]) => {
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
    sandboxes: Object.keys(of("sandbox")),
  };
}
