import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  type OutgoingHttpHeaders,
} from "node:http2";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import type { Clock, Timer } from "../clock.js";
import { type CallEnd, resetName, unsentEnd } from "./call-end.js";
import { connectSocket, explainConnectFailure } from "./connect-socket.js";
import type { Endpoint } from "./endpoint.js";
import { Keepalive } from "./keepalive.js";
import type { PoolMember } from "./stream-pool.js";

/** Bytes that a peer may send ahead on one stream, and on the connection. */
const STREAM_WINDOW_BYTES = 4 * 1024 * 1024;
const CONNECTION_WINDOW_BYTES = 16 * 1024 * 1024;
/** In megabytes. Node refuses streams above it; the windows bound memory already. */
const MAX_SESSION_MEMORY_MB = 1024;
/** HTTP/2 has 2^30 stream ids for a client; a connection is replaced long before they are used up. */
const STREAMS_OF_A_LIFE = 500_000_000;

/** What a connection needs to know. */
export interface Http2ConnectionOptions {
  readonly endpoint: Endpoint;
  readonly clock: Clock;
  /** Time for name, TCP, TLS and the server's settings together. */
  readonly connectTimeoutMs: number;
  /** Calls at most on it, whatever the server allows. */
  readonly maxStreams: number;
  readonly keepaliveMs: number;
  readonly keepaliveTimeoutMs: number;
  readonly pingsPerSilence: number;
}

/** Whom a connection tells about itself. */
export interface Http2ConnectionOwner {
  /** It takes calls, or takes another number of them. */
  ready(connection: Http2Connection): void;
  /** It takes no more calls; those on it may go on. */
  gone(connection: Http2Connection): void;
  /** It never came to be. */
  failed(connection: Http2Connection, end: CallEnd): void;
  /** It has closed, with all its calls. */
  closed(connection: Http2Connection): void;
  /** The server finds that it is called or pinged too much. */
  tooMuch(): void;
}

/**
 * One HTTP/2 connection. It takes calls when the server's settings have come: until then nothing of a call is sent,
 * so that whatever goes wrong before is NOT_SENT for certain.
 */
export class Http2Connection implements PoolMember {
  state: "connecting" | "ready" | "gone" = "connecting";
  active = 0;
  capacity = 0;
  readonly #options: Http2ConnectionOptions;
  readonly #owner: Http2ConnectionOwner;
  readonly #socket: Socket;
  readonly #connectTimer: Timer;
  readonly #keepalive: Keepalive;
  #session: ClientHttp2Session | undefined;
  #streams = 0;
  #streamsOfLife = 0;
  #reason = "";

  constructor(options: Http2ConnectionOptions, owner: Http2ConnectionOwner) {
    this.#options = options;
    this.#owner = owner;
    const { endpoint, clock, connectTimeoutMs } = options;
    this.#socket = connectSocket(endpoint);
    this.#connectTimer = clock.setTimer(connectTimeoutMs, () =>
      this.#destroy(`no HTTP/2 settings came within ${connectTimeoutMs} ms of connecting`),
    );
    this.#keepalive = new Keepalive({
      clock,
      intervalMs: options.keepaliveMs,
      timeoutMs: options.keepaliveTimeoutMs,
      pingsPerSilence: options.pingsPerSilence,
      ping: (answered) => void this.#session?.ping((error) => error === null && answered()),
      dead: () => this.#destroy(`no answer to a keepalive ping within ${options.keepaliveTimeoutMs} ms`),
    });
    this.#socket.once("error", this.#onError);
    this.#socket.once("close", this.#onClose);
    const secure = this.#socket instanceof TLSSocket;
    this.#socket.once(secure ? "secureConnect" : "connect", () => this.#startSession());
  }

  /** Whether the connection itself has broken, not only its calls. */
  get lost(): boolean {
    return this.#session === undefined || this.#session.destroyed;
  }

  /** Why it was lost, for messages. */
  get lossMessage(): string {
    return `the connection was lost: ${this.#reason === "" ? "the peer closed it" : this.#reason}`;
  }

  /**
   * Begins a call's stream.
   *
   * @throws Error - The connection takes no more calls, which then shows in {@link state}; or a header is malformed.
   */
  open(headers: OutgoingHttpHeaders): ClientHttp2Stream {
    const session = this.#session;
    if (session === undefined || session.closed || session.destroyed) {
      this.#leave();
      throw new Error("the connection takes no more calls");
    }
    const stream = session.request(headers);
    this.#streams += 1;
    if (this.#streams === 1) {
      session.ref();
      this.#keepalive.start();
    }
    this.#streamsOfLife += 1;
    if (this.#streamsOfLife === STREAMS_OF_A_LIFE) this.retire();
    return stream;
  }

  /** Something came from the peer. */
  heard(): void {
    this.#keepalive.heard();
  }

  /** A stream has closed. */
  closed(): void {
    this.#streams -= 1;
    if (this.#streams > 0) return;
    this.#keepalive.stop();
    this.#session?.unref();
  }

  /** Takes no more calls; closes when the last one has ended. */
  retire(): void {
    this.#leave();
    this.#session?.close();
  }

  /** Ends it now, with all its calls. */
  destroy(): Promise<void> {
    const closed = this.#socket.closed
      ? Promise.resolve()
      : new Promise<void>((resolve) => this.#socket.once("close", () => resolve()));
    this.#destroy("the channel was closed");
    return closed;
  }

  #startSession(): void {
    const { endpoint } = this.#options;
    const socket = this.#socket;
    const secure = socket instanceof TLSSocket;
    if (secure && socket.alpnProtocol !== "h2") {
      this.#destroy("the server agreed to TLS, but by ALPN not to HTTP/2");
      return;
    }
    const session = connect(`${secure ? "https" : "http"}://${endpoint.authority}`, {
      createConnection: () => socket,
      settings: { initialWindowSize: STREAM_WINDOW_BYTES, enablePush: false },
      maxSessionMemory: MAX_SESSION_MEMORY_MB,
    });
    this.#session = session;
    session.on("error", this.#onError);
    session.once("close", this.#onClose);
    session.on("remoteSettings", ({ maxConcurrentStreams }) => {
      this.#setReady(
        session,
        Math.min(maxConcurrentStreams ?? Number.POSITIVE_INFINITY, this.#options.maxStreams),
      );
    });
    // Node closes the session by itself then: at once for an error, else when the calls on it have ended.
    session.on("goaway", (code) => {
      if (code !== 0) this.#reason ||= `the server sent GOAWAY ${resetName(code)}`;
      if (resetName(code) === "ENHANCE_YOUR_CALM") this.#owner.tooMuch();
      this.#leave();
    });
  }

  #setReady(session: ClientHttp2Session, capacity: number): void {
    if (this.state === "gone") return;
    if (this.state === "connecting") {
      this.#connectTimer.cancel();
      session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
      session.unref();
    }
    this.state = "ready";
    this.capacity = capacity;
    this.#owner.ready(this);
  }

  // A TLS socket under a session may tell its error and never close: what has an error is of no use any more.
  readonly #onError = (error: Error): void => {
    this.#destroy(describe(error));
  };

  readonly #onClose = (): void => {
    this.#keepalive.stop();
    this.#leave();
    this.#owner.closed(this);
  };

  #destroy(reason: string): void {
    this.#reason ||= reason;
    this.#session?.destroy();
    this.#socket.destroy();
    this.#leave();
  }

  #leave(): void {
    this.#connectTimer.cancel();
    const before = this.state;
    this.state = "gone";
    if (before === "ready") this.#owner.gone(this);
    if (before === "connecting") {
      const found = this.#reason === "" ? "the peer closed the connection" : this.#reason;
      this.#owner.failed(this, unsentEnd(explainConnectFailure(found)));
    }
  }
}

/** Errors of several addresses tried in turn have no text of their own. */
function describe(error: Error): string {
  if (error instanceof AggregateError && error.message === "") {
    return error.errors.map((one) => (one instanceof Error ? one.message : String(one))).join("; ");
  }
  return error.message;
}
