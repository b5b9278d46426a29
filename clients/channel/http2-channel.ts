import type { ClientHttp2Stream, OutgoingHttpHeaders } from "node:http2";
import type { DescMethod } from "@bufbuild/protobuf";
import { rpcName } from "../call-error.js";
import type { Channel, ChannelStats } from "../channel.js";
import { type Clock, systemClock } from "../clock.js";
import { type CallEnd, unsentEnd } from "./call-end.js";
import { checkMetadata } from "./check-metadata.js";
import { type EndpointOptions, parseEndpoint } from "./endpoint.js";
import { encodeGrpcTimeout } from "./grpc-message.js";
import { Http2Call, type Http2CallHost } from "./http2-call.js";
import {
  Http2Connection,
  type Http2ConnectionOptions,
  type Http2ConnectionOwner,
} from "./http2-connection.js";
import { type MessageLimit, messageLimit } from "./message-limit.js";
import { StreamPool } from "./stream-pool.js";
import type { Transport, TransportCaller } from "./transport.js";
import { transportChannel } from "./transport-channel.js";

/** How an {@link http2Channel} is made. */
export interface Http2ChannelOptions {
  /** Largest message either way, in bytes. 4 MiB; where it is another, calls tell it to the peer (R11). */
  readonly maxMessageBytes?: number;
  /** Connections to spread calls over. 1. */
  readonly connections?: number;
  /** Connections at most, opened where the server's bound of calls on one is reached. 32. */
  readonly maxConnections?: number;
  /** Calls at most on one connection, whatever the server allows. 1000. */
  readonly maxStreamsPerConnection?: number;
  /** Time for making a connection, in milliseconds. 10 s. */
  readonly connectTimeoutMs?: number;
  /** Silence of a peer with calls, in milliseconds, after which it is pinged. 20 s. */
  readonly keepaliveMs?: number;
  /** Time for the answer to a ping, in milliseconds; then the connection is lost. 20 s. */
  readonly keepaliveTimeoutMs?: number;
  /**
   * Pings in one silence before they become rare (5 minutes), because servers in Python, Go and C++ punish more. 3;
   * `Infinity` between servers of ours.
   */
  readonly pingsPerSilence?: number;
  /** Time, for tests. */
  readonly clock?: Clock;
}

/**
 * A channel on node:http2 alone: the hot path between servers of ours. No proxies, no load balancing by name.
 * Connections are made when calls need them, and do not keep an idle process alive.
 *
 * @throws Error - The endpoint is malformed.
 */
export function http2Channel(endpoint: EndpointOptions, options: Http2ChannelOptions = {}): Channel {
  const clock = options.clock ?? systemClock;
  const limit = messageLimit(options.maxMessageBytes);
  const { maxMessageBytes } = limit;
  const transport = new Http2Transport(parseEndpoint(endpoint), limit, { ...options, clock });
  return transportChannel({ transport, clock, maxMessageBytes });
}

const USER_AGENT = "touchstone-http2";

/** Headers of a call without and with a deadline. */
interface HeaderTemplate {
  readonly plain: OutgoingHttpHeaders;
  readonly timed: OutgoingHttpHeaders;
}

class Http2Transport implements Transport, Http2CallHost, Http2ConnectionOwner {
  readonly target: string;
  readonly maxMessageBytes: number;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #pool: StreamPool<Http2Connection>;
  readonly #connectionOptions: Http2ConnectionOptions;
  /** Headers that are the same for all calls of a method with the same metadata. */
  readonly #templates = new WeakMap<object, Map<DescMethod, HeaderTemplate>>();
  /** Every connection that may still have calls. */
  readonly #connections = new Set<Http2Connection>();
  #keepaliveMs: number;
  #closed: CallEnd | undefined;

  constructor(
    endpoint: ReturnType<typeof parseEndpoint>,
    limit: MessageLimit,
    options: Http2ChannelOptions & { readonly clock: Clock },
  ) {
    this.target = endpoint.target;
    this.maxMessageBytes = limit.maxMessageBytes;
    this.#headers = limit.headers;
    this.#keepaliveMs = options.keepaliveMs ?? 20_000;
    const maxStreams = options.maxStreamsPerConnection ?? 1000;
    this.#connectionOptions = {
      endpoint,
      clock: options.clock,
      maxStreams,
      connectTimeoutMs: options.connectTimeoutMs ?? 10_000,
      keepaliveMs: this.#keepaliveMs,
      keepaliveTimeoutMs: options.keepaliveTimeoutMs ?? 20_000,
      pingsPerSilence: options.pingsPerSilence ?? 3,
    };
    const spread = options.connections ?? 1;
    this.#pool = new StreamPool<Http2Connection>({
      open: () => this.#connect(),
      spread,
      maxConnections: Math.max(spread, options.maxConnections ?? 32),
      assumedCapacity: maxStreams,
    });
  }

  // As a transport.

  start(caller: TransportCaller): Http2Call {
    const call = new Http2Call(this, caller);
    const closed = this.#closed;
    if (closed === undefined) this.#pool.request(call);
    else process.nextTick(() => call.fail(closed));
    return call;
  }

  stats(): ChannelStats {
    return this.#pool.stats();
  }

  async close(): Promise<void> {
    this.#closed ??= unsentEnd("the channel is closed: make another one");
    this.#pool.failWaiters(this.#closed);
    await Promise.all([...this.#connections].map((connection) => connection.destroy()));
  }

  // As the host of calls.

  request(call: Http2Call): void {
    if (this.#closed === undefined) this.#pool.request(call);
    else call.fail(this.#closed);
  }

  withdraw(call: Http2Call): void {
    this.#pool.withdraw(call);
  }

  release(connection: Http2Connection): void {
    this.#pool.release(connection);
  }

  waitsFor(): string {
    return this.#pool.waitsFor();
  }

  open(connection: Http2Connection, caller: TransportCaller): ClientHttp2Stream {
    const template = this.#template(caller);
    const remaining = caller.remainingMs();
    if (remaining === undefined) return connection.open(template.plain);
    // node:http2 has read the headers when it returns: the object may serve the next call.
    template.timed["grpc-timeout"] = encodeGrpcTimeout(remaining);
    return connection.open(template.timed);
  }

  // As the owner of connections.

  ready(connection: Http2Connection): void {
    this.#pool.ready(connection);
  }

  gone(connection: Http2Connection): void {
    this.#pool.gone(connection);
  }

  failed(connection: Http2Connection, end: CallEnd): void {
    this.#pool.failed(connection, end);
  }

  closed(connection: Http2Connection): void {
    this.#connections.delete(connection);
  }

  tooMuch(): void {
    this.#keepaliveMs *= 2;
  }

  #connect(): Http2Connection {
    const connection = new Http2Connection(
      { ...this.#connectionOptions, keepaliveMs: this.#keepaliveMs },
      this,
    );
    this.#connections.add(connection);
    return connection;
  }

  /** Clients give all their calls the same metadata object: making the headers anew would cost more than the rest. */
  #template({ method, headers }: TransportCaller): HeaderTemplate {
    const key = headers ?? this;
    let templates = this.#templates.get(key);
    if (templates === undefined) {
      templates = new Map();
      this.#templates.set(key, templates);
    }
    let template = templates.get(method);
    if (template === undefined) {
      if (headers !== undefined) checkMetadata(headers);
      const { endpoint } = this.#connectionOptions;
      const secure = "secure" in endpoint.address && endpoint.address.secure;
      const plain = {
        ...headers,
        ":method": "POST",
        ":scheme": secure ? "https" : "http",
        ":authority": endpoint.authority,
        ":path": `/${rpcName(method)}`,
        te: "trailers",
        "content-type": "application/grpc",
        "grpc-accept-encoding": "identity",
        "user-agent": USER_AGENT,
        ...this.#headers,
      };
      template = { plain, timed: { ...plain, "grpc-timeout": "" } };
      templates.set(method, template);
    }
    return template;
  }
}
