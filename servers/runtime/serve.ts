import { createRegistry } from "@bufbuild/protobuf";
import { file_google_rpc_error_details } from "../../gen/google/rpc/error_details_pb.js";
import { file_touchstone_v1_failure } from "../../gen/index.js";
import type { Clock } from "./clock.js";
import type { HeldService } from "./held-service.js";
import { createHealth, openPort, type PortOptions, reflectionRoutes } from "./port/index.js";
import type { Runtime } from "./runtime.js";

/** Where and how a server listens. */
export interface ServeOptions {
  readonly runtime: Runtime;
  readonly services: readonly HeldService[];
  /** Default: 127.0.0.1. */
  readonly host?: string;
  /** Default: a free one. */
  readonly port?: number;
  readonly tls?: PortOptions["tls"];
  /** Where callers on other machines reach it, as answers name it. Absent: what it listens on, seen from this machine. */
  readonly publicUrl?: string;
  readonly allowedOrigins?: readonly string[];
  readonly allowedHosts?: readonly string[];
  /** Milliseconds that held sessions are served after the server was asked to stop. Default: 30 s. */
  readonly drainTimeoutMs?: number;
}

/** A server that listens. */
export interface RunningServer extends AsyncDisposable {
  /** `http://127.0.0.1:1234`. */
  readonly url: string;
  /**
   * Drains (R18): NOT_SERVING, nothing new, held sessions served until the last ends or the drain timeout passes,
   * then closed as by Close. Resolves when nothing is left.
   */
  close(options?: { readonly drainTimeoutMs?: number }): Promise<void>;
}

/** Milliseconds that calls have to end once their sessions are closed. */
const callGraceMs = 1000;
const defaultDrainTimeoutMs = 30_000;
/** Types that a google.protobuf.Any of this contract may hold, for JSON: the details of statuses. */
const detailTypes = createRegistry(file_google_rpc_error_details, file_touchstone_v1_failure);
const loopback = new Set(["127.0.0.1", "::1", "localhost"]);

/** Serves services on one port, with health and reflection. */
export async function serve(options: ServeOptions): Promise<RunningServer> {
  const { runtime, services } = options;
  const host = options.host ?? "127.0.0.1";
  if (!loopback.has(host) && runtime.principals === undefined) {
    // ALL-PRIN-008
    throw new Error(
      `listening on ${host} needs feature PRINCIPALS: give the server a credential that its callers show, or listen on 127.0.0.1`,
    );
  }
  const routes = services.flatMap((service) => service.routes);
  const names = routes.map(({ service }) => service.typeName);
  const health = createHealth(names);
  const port = await openPort({
    routes: [...routes, health.route, ...reflectionRoutes(routes)],
    host,
    port: options.port ?? 0,
    registry: detailTypes,
    ...(runtime.codec === undefined ? {} : { codec: runtime.codec }),
    maxReceiveBytes: runtime.limits.maxMessageBytes,
    maxSendBytes: runtime.limits.maxMessageBytes,
    onInternalError: (method, error) =>
      runtime.log.error({ rpc: `${method.parent.typeName}/${method.name}`, err: error }, "unexpected error"),
    ...(options.tls === undefined ? {} : { tls: options.tls }),
    ...(options.allowedOrigins === undefined ? {} : { allowedOrigins: options.allowedOrigins }),
    allowedHosts: [
      ...(options.allowedHosts ?? []),
      ...(options.publicUrl === undefined ? [] : [new URL(options.publicUrl).hostname]),
    ],
  });
  runtime.url = options.publicUrl ?? port.url;
  runtime.log.info({ url: port.url, services: names }, "serving");

  let closing: Promise<void> | undefined;
  const close: RunningServer["close"] = (how = {}) => {
    closing ??= (async () => {
      runtime.draining = true;
      // The empty name is the server as a whole, which is what a load balancer asks for (ALL-DRAIN-001).
      for (const name of ["", ...names]) health.setServing(name, false);
      await drain(
        services,
        runtime.clock,
        how.drainTimeoutMs ?? options.drainTimeoutMs ?? defaultDrainTimeoutMs,
      );
      health.close();
      await port.close({ graceMs: callGraceMs });
    })();
    return closing;
  };
  return { url: port.url, close, [Symbol.asyncDispose]: () => close({ drainTimeoutMs: 0 }) };
}

/** Waits until nothing is held or the time is over, then ends what is left. */
async function drain(services: readonly HeldService[], clock: Clock, timeoutMs: number): Promise<void> {
  const until = clock.now() + timeoutMs;
  const held = () => services.some((service) => service.live() > 0);
  while (held() && clock.now() < until) {
    await new Promise<void>((resolve) => clock.setTimer(Math.min(100, until - clock.now()), resolve));
  }
  await Promise.all(services.map((service) => service.drain()));
}
