import type { AddressInfo } from "node:net";
import { Code, ConnectError } from "@connectrpc/connect";
import { usualMaxMessageBytes } from "../../../clients/metadata.js";
import { createGrpcHandler } from "../grpc/grpc-handler.js";
import { createConnectHandler } from "./connect-handler.js";
import { createConnectionSet } from "./connection-set.js";
import { createHttpServers } from "./http-servers.js";
import { listen } from "./listener.js";
import { DEFAULT_KEEPALIVE, LARGEST_MESSAGE_BYTES, type PortOptions } from "./port-options.js";
import { loadTls } from "./tls-material.js";
import { createWebGuard } from "./web-guard.js";

/** A port that is being served. */
export interface Port {
  /** As asked for. */
  readonly host: string;
  /** The port number in use. */
  readonly port: number;
  /** What a client on this machine calls, `http://127.0.0.1:1234`; `https` with TLS. */
  readonly url: string;
  /**
   * Drains and closes: no new connections, GOAWAY to HTTP/2 clients, idle connections end. Open calls may go on for
   * `graceMs`; then they are answered UNAVAILABLE and what is left is destroyed. Later calls wait for the first one's
   * end, and may shorten its grace.
   */
  close(options: { readonly graceMs: number }): Promise<void>;
  /** {@link Port.close} without grace. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** How long the last answers may take to leave. */
const FLUSH_MS = 500;

/**
 * Opens one port for gRPC, gRPC-Web and Connect (JSON and binary), over HTTP/1.1 and HTTP/2, in plaintext, TLS or
 * mTLS. The protocol is told per connection and per request; the same implementations serve all of them.
 *
 * @throws Error - Naming host and port where they cannot be listened on, or the file of TLS material that cannot be used.
 */
export async function openPort(options: PortOptions): Promise<Port> {
  const shared = {
    routes: options.routes,
    maxReceiveBytes: options.maxReceiveBytes ?? usualMaxMessageBytes,
    maxSendBytes: options.maxSendBytes ?? LARGEST_MESSAGE_BYTES,
    onInternalError: options.onInternalError ?? (() => {}),
    compress: options.compress ?? false,
    ...(options.registry === undefined ? {} : { registry: options.registry }),
    ...(options.shutdownSignal === undefined ? {} : { shutdownSignal: options.shutdownSignal }),
  };
  const grpc = createGrpcHandler({
    ...shared,
    ...(options.codec === undefined ? {} : { codec: options.codec }),
  });
  const connect = createConnectHandler(shared);
  const servers = createHttpServers({
    grpc,
    connect,
    guard: createWebGuard(options.host, options.allowedOrigins ?? [], options.allowedHosts ?? []),
    keepalive: options.keepalive ?? DEFAULT_KEEPALIVE,
    halfDuplexBidiOverHttp1: options.halfDuplexBidiOverHttp1 ?? false,
  });
  const connections = createConnectionSet();
  const listener = await listen(options, options.tls === undefined ? undefined : loadTls(options.tls), {
    http1(socket) {
      connections.add(socket);
      servers.http1(socket);
    },
    http2(socket) {
      connections.add(socket);
      servers.http2(socket);
    },
  });

  let drained: Promise<void> | undefined;
  function drain(): Promise<void> {
    listener.stop();
    servers.drain();
    return connections.whenEmpty();
  }

  async function close({ graceMs }: { readonly graceMs: number }): Promise<void> {
    drained ??= drain();
    if (await settlesWithin(drained, graceMs)) return;
    const reason = new ConnectError("the server is shutting down", Code.Unavailable);
    grpc.abortAll(reason);
    connect.abortAll(reason);
    if (await settlesWithin(drained, FLUSH_MS)) return;
    connections.destroyAll();
    await drained;
  }

  return {
    host: options.host,
    port: listener.address.port,
    url: urlOf(listener.address, options),
    close,
    [Symbol.asyncDispose]: () => close({ graceMs: 0 }),
  };
}

function urlOf(address: AddressInfo, { host, tls }: PortOptions): string {
  const reachable = host === "0.0.0.0" || host === "" ? "127.0.0.1" : host === "::" ? "::1" : host;
  const name = reachable.includes(":") ? `[${reachable}]` : reachable;
  return `${tls === undefined ? "http" : "https"}://${name}:${address.port}`;
}

/** Whether `promise` resolves within `milliseconds`; 0 gives it this turn. */
function settlesWithin(promise: Promise<void>, milliseconds: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(false), milliseconds);
    promise.then(() => {
      clearTimeout(timer);
      resolve(true);
    }, reject);
  });
}
