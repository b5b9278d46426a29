import * as grpc from "@grpc/grpc-js";
import type { Channel, ChannelStats } from "../channel.js";
import { type Clock, systemClock } from "../clock.js";
import { type CallEnd, unsentEnd } from "./call-end.js";
import { type Endpoint, type EndpointOptions, parseEndpoint } from "./endpoint.js";
import { GrpcJsCall, type GrpcJsCallHost, type GrpcJsMember } from "./grpc-js-call.js";
import { type MessageLimit, messageLimit } from "./message-limit.js";
import { StreamPool } from "./stream-pool.js";
import type { Transport, TransportCaller } from "./transport.js";
import { transportChannel } from "./transport-channel.js";

/** How a {@link grpcJsChannel} is made. */
export interface GrpcJsChannelOptions {
  /** Largest message either way, in bytes. 4 MiB; where it is another, calls tell it to the peer (R11). */
  readonly maxMessageBytes?: number;
  /** Calls at most on one connection; servers usually allow 100, which grpc-js does not let us see. 100. */
  readonly maxStreamsPerConnection?: number;
  /** Connections at most, opened where one is full. 32. */
  readonly maxConnections?: number;
  /**
   * Silence of a peer with calls, in milliseconds, after which it is pinged; grpc-js then goes on at that pace.
   * 305 s: servers in Python, Go and C++ close the connection, and fail all its calls, after three pings in less than
   * five minutes. Dead peers are found sooner by the watchdog of streams and by deadlines.
   */
  readonly keepaliveMs?: number;
  /** Time for the answer to a ping, in milliseconds; then the connection is lost. 20 s. */
  readonly keepaliveTimeoutMs?: number;
  /** Further options of grpc-js, by its own names; they win. */
  readonly grpcOptions?: grpc.ChannelOptions;
  /** Time of the calls' deadlines, for tests. */
  readonly clock?: Clock;
}

/** Bytes that a peer may send ahead, on a stream and on the connection. */
const WINDOW_BYTES = 4 * 1024 * 1024;

/**
 * A channel on grpc-js: name resolution, proxies, TLS, reconnection. The default towards servers of anybody.
 *
 * @throws Error - The endpoint is malformed.
 */
export function grpcJsChannel(endpoint: EndpointOptions, options: GrpcJsChannelOptions = {}): Channel {
  const clock = options.clock ?? systemClock;
  const limit = messageLimit(options.maxMessageBytes);
  const { maxMessageBytes } = limit;
  const transport = new GrpcJsTransport(parseEndpoint(endpoint), limit, options);
  return transportChannel({ transport, clock, maxMessageBytes });
}

class GrpcJsTransport implements Transport, GrpcJsCallHost {
  readonly target: string;
  readonly maxMessageBytes: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly pool: StreamPool<GrpcJsMember>;
  readonly #calls = new Set<GrpcJsCall>();
  #closed: CallEnd | undefined;

  constructor(endpoint: Endpoint, limit: MessageLimit, options: GrpcJsChannelOptions) {
    this.target = endpoint.target;
    const { maxMessageBytes } = limit;
    this.maxMessageBytes = maxMessageBytes;
    this.headers = limit.headers;
    const capacity = options.maxStreamsPerConnection ?? 100;
    const credentials = credentialsOf(endpoint);
    const channelOptions: grpc.ChannelOptions = {
      "grpc.max_receive_message_length": maxMessageBytes,
      "grpc.keepalive_time_ms": options.keepaliveMs ?? 305_000,
      "grpc.keepalive_timeout_ms": options.keepaliveTimeoutMs ?? 20_000,
      "grpc-node.flow_control_window": WINDOW_BYTES,
      "grpc.initial_reconnect_backoff_ms": 100,
      "grpc.max_reconnect_backoff_ms": 5_000,
      // A service config from DNS could make grpc-js repeat calls (ALL-REPEAT-020).
      "grpc.service_config_disable_resolution": 1,
      // Each member of the pool is a connection of its own.
      "grpc.use_local_subchannel_pool": 1,
      "grpc.enable_channelz": 0,
      "grpc.primary_user_agent": "touchstone",
      ...options.grpcOptions,
    };
    this.pool = new StreamPool<GrpcJsMember>({
      open: () => ({
        state: "ready",
        active: 0,
        capacity,
        channel: new grpc.Channel(addressOf(endpoint), credentials, channelOptions),
      }),
      spread: 1,
      maxConnections: options.maxConnections ?? 32,
      assumedCapacity: capacity,
    });
  }

  start(caller: TransportCaller): GrpcJsCall {
    const call = new GrpcJsCall(this, caller);
    const closed = this.#closed;
    if (closed === undefined) {
      this.#calls.add(call);
      this.pool.request(call);
    } else {
      process.nextTick(() => call.fail(closed));
    }
    return call;
  }

  ended(call: GrpcJsCall): void {
    this.#calls.delete(call);
  }

  stats(): ChannelStats {
    return this.pool.stats();
  }

  async close(): Promise<void> {
    this.#closed ??= unsentEnd("the channel is closed: make another one");
    this.pool.failWaiters(this.#closed);
    for (const call of [...this.#calls]) call.lose("the channel was closed");
    for (const { channel } of this.pool.members) channel.close();
  }
}

function credentialsOf({ address, caPem, clientCert }: Endpoint): grpc.ChannelCredentials {
  if ("path" in address || !address.secure) return grpc.credentials.createInsecure();
  const pem = (text: string | undefined): Buffer | null => (text === undefined ? null : Buffer.from(text));
  return grpc.credentials.createSsl(pem(caPem), pem(clientCert?.keyPem), pem(clientCert?.certPem));
}

function addressOf({ address, authority }: Endpoint): string {
  return "path" in address ? `unix://${address.path}` : `dns:${authority}`;
}
