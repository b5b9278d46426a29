import type { EpisodeWatch } from "../episode/episode-watch.js";
import type { CallObserver } from "../runtime/call-observer.js";
import type { Logger } from "../runtime/log.js";
import { ConfigError } from "./config-error.js";
import type { Config } from "./load-config.js";
import { hostAndPort } from "./server-address.js";
import { thrownText } from "./thrown-text.js";

/** What the servers of a process are watched by. */
export interface ServerTelemetry extends AsyncDisposable {
  /** Observers of one server's calls. */
  observers(server: string): CallObserver[];
  /** Who watches the episodes of an episode server; undefined: nobody. */
  episodes(server: string): EpisodeWatch | undefined;
  /** Shows how much a server holds. */
  showLive(server: string, live: () => number): void;
}

/**
 * The telemetry that a configuration asks for; undefined where it asks for none, and then its libraries are not loaded
 * either. Without `own` its servers may be served at the same time: where somebody listens at the address of Prometheus,
 * nothing is told there. Throws ConfigError.
 */
export async function startTelemetryOf(
  config: Config,
  { own, log }: { readonly own: boolean; readonly log: Logger },
): Promise<ServerTelemetry | undefined> {
  const asked = config.telemetry;
  if (asked?.prometheus === undefined && asked?.traces === undefined) return undefined;
  const { metricsObserver, showLive, startTelemetry, traceEpisodes, traceObserver } = await import(
    "../telemetry/index.js"
  );
  const { traces } = asked;
  const prometheus = asked.prometheus === undefined ? undefined : hostAndPort(asked.prometheus);
  const onLost = (error: unknown): void =>
    log.warn(`telemetry: the last of it could not be sent: ${thrownText(error)}`);
  const started = await startTelemetry({ prometheus, traces, onLost }).catch(async (error: unknown) => {
    const problem = `telemetry.prometheus: ${thrownText(error)}`;
    if (own || !isInUse(error)) throw new ConfigError([`${config.file}: ${problem}`]);
    log.warn(`${problem}; metrics are told by whoever listens there only`);
    return await startTelemetry({ prometheus: undefined, traces, onLost });
  });
  const { meter, tracer } = started;
  return {
    observers: (server) => [
      ...(meter === undefined ? [] : [metricsObserver({ meter, server, now: () => performance.now() })]),
      ...(tracer === undefined ? [] : [traceObserver(tracer, server)]),
    ],
    episodes: (server) => (tracer === undefined ? undefined : traceEpisodes(tracer, server)),
    showLive: (server, live) => {
      if (meter !== undefined) showLive({ meter, server }, live);
    },
    [Symbol.asyncDispose]: () => started[Symbol.asyncDispose](),
  };
}

function isInUse(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "EADDRINUSE";
}
