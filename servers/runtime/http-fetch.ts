import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { Readable } from "node:stream";

/** A connection that broke, and whether the request had been sent by then. */
export class ConnectionError extends Error {
  constructor(
    /** The request may have reached its peer. */
    readonly sent: boolean,
    options: ErrorOptions,
  ) {
    super(sent ? "the connection broke" : "the connection could not be made", options);
    this.name = "ConnectionError";
  }
}

/** Idle connections are given up before common servers do so (5 s), so that none breaks just as it is used again. */
const idleMs = 2000;

/** A `fetch` for one server. */
export interface HttpFetch {
  readonly fetch: typeof globalThis.fetch;
  /** Ends idle connections. */
  close(): void;
}

/**
 * A `fetch` over node:http, for servers that speak no gRPC. Unlike the global one it has no time limit of its own, since
 * an answer may take longer than five minutes; it tells whether a request was sent; it follows no redirect; and it
 * sends the headers given here and those that describe the body, so that nothing of the process's environment gets into
 * a request (field-case-113).
 */
export function httpFetch(headers: Readonly<Record<string, string>>): HttpFetch {
  const options = { keepAlive: true, timeout: idleMs };
  const [http, https] = [new HttpAgent(options), new HttpsAgent(options)];
  const send: typeof globalThis.fetch = (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : input);
    const secure = url.protocol === "https:";
    return new Promise((resolve, reject) => {
      let sent = false;
      const request = (secure ? httpsRequest : httpRequest)(url, {
        method: init.method ?? "GET",
        agent: secure ? https : http,
        headers: { ...bodyHeaders(init.body), ...headers },
        ...(init.signal == null ? {} : { signal: init.signal }),
      });
      request.on("socket", (socket) => {
        // A socket that was used before is connected.
        if (!socket.connecting) sent = true;
        else {
          socket.once(secure ? "secureConnect" : "connect", () => {
            sent = true;
          });
        }
      });
      request.on("response", (incoming) => resolve(responseOf(incoming)));
      request.on("error", (cause) =>
        reject(init.signal?.aborted ? cause : new ConnectionError(sent, { cause })),
      );
      request.end(typeof init.body === "string" ? init.body : undefined);
    });
  };
  return {
    fetch: send,
    close() {
      http.destroy();
      https.destroy();
    },
  };
}

function bodyHeaders(body: unknown): Record<string, string | number> {
  const accept = { accept: "application/json, text/event-stream", "user-agent": "touchstone" };
  if (typeof body !== "string") return accept;
  return { ...accept, "content-type": "application/json", "content-length": Buffer.byteLength(body) };
}

function responseOf(incoming: IncomingMessage): Response {
  const headers = new Headers();
  for (let i = 0; i + 1 < incoming.rawHeaders.length; i += 2) {
    headers.append(incoming.rawHeaders[i] ?? "", incoming.rawHeaders[i + 1] ?? "");
  }
  const status = incoming.statusCode ?? 0;
  const bodyless = status === 204 || status === 304;
  if (bodyless) incoming.resume();
  const body = bodyless ? null : (Readable.toWeb(incoming) as ReadableStream<Uint8Array>);
  return new Response(body, { status, headers });
}
