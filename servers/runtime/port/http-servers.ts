import { createServer as createHttp1Server, type IncomingMessage, type ServerResponse } from "node:http";
import {
  createServer as createHttp2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { Socket } from "node:net";
import { type GrpcHandler, isGrpc } from "../grpc/grpc-handler.js";
import { stopSender } from "../grpc/stop-sender.js";
import type { ConnectHandler } from "./connect-handler.js";
import { guardHttp1Call } from "./http1-guard.js";
import { keepAlive } from "./keepalive.js";
import type { PortKeepalive } from "./port-options.js";
import type { WebGuard } from "./web-guard.js";

/** The handlers behind a port, and how its connections are kept. */
export interface HttpServersOptions {
  readonly grpc: GrpcHandler;
  readonly connect: ConnectHandler;
  readonly guard: WebGuard;
  readonly keepalive: PortKeepalive | false;
  readonly halfDuplexBidiOverHttp1: boolean;
}

/** The HTTP servers behind a listener. They never listen: connections are handed to them. */
export interface HttpServers {
  http1(socket: Socket): void;
  http2(socket: Socket): void;
  /** Asks every client to go: GOAWAY, and the end of idle connections. Open calls go on. */
  drain(): void;
}

/** Of the 'stream' event. The last, the headers as sent, is missing in Node's typings. */
type StreamArguments = [
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  flags: number,
  raw?: string[],
];

/** A stream may send this much before it is read; a large observation goes out in one round trip. */
const STREAM_WINDOW_BYTES = 4 * 1024 * 1024;
const CONNECTION_WINDOW_BYTES = 16 * 1024 * 1024;

/** In megabytes. Node's 10 would refuse streams (RST 11) once a few windows of this size are full. */
const SESSION_MEMORY_MB = 1024;

const CONCURRENT_STREAMS = 1000;

/** A client may take this long to name its call. It may then send for as long as it likes, as over HTTP/2. */
const HTTP1_HEADERS_MS = 60_000;

/** Longer than the 60 s of common proxies, which otherwise send a call into a connection that is closing. */
const HTTP1_KEEP_ALIVE_MS = 75_000;

/** Makes the HTTP/1.1 and HTTP/2 servers of a port and splits their requests between the handlers. */
export function createHttpServers(options: HttpServersOptions): HttpServers {
  const { grpc, connect, guard } = options;
  const sessions = new Set<ServerHttp2Session>();
  let draining = false;

  /** Everything that is not gRPC. */
  function serveWeb(
    request: IncomingMessage | Http2ServerRequest,
    response: ServerResponse | Http2ServerResponse,
  ): void {
    const verdict = guard.judge({
      method: request.method ?? "",
      headers: request.headers,
      authority: "authority" in request ? request.authority : request.headers.host,
      localAddress: request.socket.localAddress,
    });
    if (verdict.kind === "refuse") {
      answer(
        response,
        verdict.status,
        { "content-type": "text/plain; charset=utf-8" },
        `${verdict.reason}\n`,
      );
      return;
    }
    if (verdict.kind === "preflight") {
      answer(response, 204, verdict.headers);
      return;
    }
    for (const [name, value] of Object.entries(verdict.headers)) response.setHeader(name, value);
    connect(request, response);
  }

  const timeouts = {
    headersTimeout: HTTP1_HEADERS_MS,
    requestTimeout: 0,
    keepAliveTimeout: HTTP1_KEEP_ALIVE_MS,
  };
  const http1 = createHttp1Server(timeouts, (request, response) => {
    guardHttp1Call(request, response);
    if (draining) response.shouldKeepAlive = false;
    response.once("finish", () => {
      if (draining) request.socket.end();
    });
    // connect-node refuses bidirectional methods by the version number alone.
    if (options.halfDuplexBidiOverHttp1) request.httpVersion = "2.0";
    serveWeb(request, response);
  });
  // A server that listens starts its header and request time-outs here; this one never does.
  http1.emit("listening");

  // The compatibility objects are costly: only requests that need them get there.
  const compat = createHttp2Server(serveWeb);
  const http2 = createHttp2Server({
    maxSessionMemory: SESSION_MEMORY_MB,
    settings: { initialWindowSize: STREAM_WINDOW_BYTES, maxConcurrentStreams: CONCURRENT_STREAMS },
  });
  http2.on("sessionError", () => {});
  http2.on("stream", (...call: StreamArguments) => {
    const [stream, headers, flags] = call;
    if (!isGrpc(headers["content-type"])) {
      compat.emit("stream", ...call);
    } else if (guard.originAllowed(headers.origin)) {
      grpc(stream, headers, flags);
    } else {
      stream.on("error", () => {});
      stream.respond({ ":status": 403 }, { endStream: true });
      stream.resume();
      stopSender(stream);
    }
  });

  function welcome(session: ServerHttp2Session, socket: Socket): void {
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
    session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
    if (options.keepalive !== false) keepAlive(session, socket, options.keepalive);
    if (draining) session.close();
  }

  return {
    http1: (socket) => void http1.emit("connection", socket),
    http2(socket) {
      // Comes at once, if it comes: this is how a session's own socket is known.
      const onSession = (session: ServerHttp2Session): void => welcome(session, socket);
      http2.once("session", onSession);
      http2.emit("connection", socket);
      http2.off("session", onSession);
    },
    drain() {
      draining = true;
      // Also stops the time-outs; the error of closing what never listened goes to a callback that is not given.
      http1.close();
      http1.closeIdleConnections();
      for (const session of sessions) session.close();
    },
  };
}

function answer(
  response: ServerResponse | Http2ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  body = "",
): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.statusCode = status;
  response.end(body);
}
