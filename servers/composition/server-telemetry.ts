import type { CallObserver } from "../runtime/call-observer.js";
import { ConfigError } from "./config-error.js";
import type { Config } from "./load-config.js";
import { hostAndPort } from "./server-address.js";
import { thrownText } from "./thrown-text.js";

/** What the servers of a process are watched by. */
export interface ServerTelemetry extends AsyncDisposable {
  /** Observers of one server's calls. */
  observers(server: string): CallObserver[];
  /** Shows how much a server holds. */
  showLive(server: string, live: () => number): void;
}

/**
 * The telemetry that a configuration asks for; undefined where it asks for none, and then its libraries are not loaded
 * either. Throws ConfigError.
 */
export async function startTelemetryOf(config: Config): Promise<ServerTelemetry | undefined> {
  const asked = config.telemetry;
  if (asked?.prometheus === undefined && asked?.traces === undefined) return undefined;
  const { metricsObserver, showLive, startTelemetry, traceObserver } = await import("../telemetry/index.js");
  const started = await startTelemetry({
    prometheus: asked.prometheus === undefined ? undefined : hostAndPort(asked.prometheus),
    traces: asked.traces,
  }).catch((error: unknown) => {
    throw new ConfigError([`${config.file}: telemetry.prometheus: ${thrownText(error)}`]);
  });
  const { meter, tracer } = started;
  return {
    observers: (server) => [
      ...(meter === undefined ? [] : [metricsObserver({ meter, server, now: () => performance.now() })]),
      ...(tracer === undefined ? [] : [traceObserver(tracer, server)]),
    ],
    showLive: (server, live) => {
      if (meter !== undefined) showLive({ meter, server }, live);
    },
    [Symbol.asyncDispose]: () => started[Symbol.asyncDispose](),
  };
}
