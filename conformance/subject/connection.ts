import type { DescService } from "@bufbuild/protobuf";
import type { Interceptor, StreamRequest, Transport, UnaryRequest } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { grpcJsStack } from "./grpc-js-stack.js";
import { statusOf, statusText } from "./reply.js";
import { type SubjectClient, subjectClient } from "./subject-client.js";
import type { WireLog } from "./wire-log.js";

/** Library that speaks to the subject. */
export type Stack = "connect-node" | "grpc-js";

/** Where a subject is and what it asks of every call. */
export interface Target {
  /** `http://host:port`, or https. */
  readonly url: string;
  /** Metadata of every call, `authorization` for example. */
  readonly headers: Readonly<Record<string, string>>;
  /** For https: authority and client certificate, PEM. */
  readonly tls?: { readonly ca?: Buffer; readonly key?: Buffer; readonly cert?: Buffer };
}

/** One connection of its own to the subject. */
export interface Connection extends AsyncDisposable {
  /** Calls of a service over it. */
  client<S extends DescService>(service: S): SubjectClient<S>;
  /** Calls without what the target requires of every call: for checks of its absence. */
  bare<S extends DescService>(service: S): SubjectClient<S>;
  /** Cuts it without a word: what runs on it is lost. */
  cut(): void;
}

/** How a connection is made. */
export interface ConnectionOptions {
  readonly target: Target;
  readonly stack: Stack;
  /** Number within the check, for the log. */
  readonly number: number;
  readonly log: WireLog;
  /** Ends every call. */
  readonly signal: AbortSignal;
  /** Told of each request before it leaves: the ledger of what must be closed. */
  readonly onRequest: (request: UnaryRequest | StreamRequest, message: object) => void;
}

/** Opens a connection, lazily: the first call dials. */
export function openConnection(options: ConnectionOptions): Connection {
  const { target, stack, signal } = options;
  const { transport, cut } = stack === "grpc-js" ? overGrpcJs(options) : overConnectNode(options);
  return {
    client: (service) => subjectClient(service, { transport, headers: target.headers, signal }),
    bare: (service) => subjectClient(service, { transport, headers: {}, signal }),
    cut,
    async [Symbol.asyncDispose]() {
      cut();
    },
  };
}

function overGrpcJs(options: ConnectionOptions): { transport: Transport; cut(): void } {
  const { target } = options;
  const url = new URL(target.url);
  const port = url.port === "" ? (url.protocol === "https:" ? "443" : "80") : url.port;
  const { transport, close } = grpcJsStack({
    authority: `${url.hostname}:${port}`,
    tls: url.protocol === "https:" ? { ...target.tls } : undefined,
    interceptors: [recording(options)],
  });
  return { transport, cut: close };
}

function overConnectNode(options: ConnectionOptions): { transport: Transport; cut(): void } {
  const { target } = options;
  const sessions = new Http2SessionManager(target.url, undefined, { ...target.tls });
  const transport = createGrpcTransport({
    baseUrl: target.url,
    sessionManager: sessions,
    interceptors: [recording(options)],
    readMaxBytes: 0xffff_ffff,
    writeMaxBytes: 0xffff_ffff,
  });
  return { transport, cut: () => sessions.abort() };
}

/** Writes each call into the log and tells of each request. */
function recording({ log, number: connection, onRequest }: ConnectionOptions): Interceptor {
  let calls = 0;
  return (next) => async (request) => {
    calls += 1;
    const call = `${request.service.name}.${request.method.name}#${calls}`;
    const seen = (message: object): void => {
      onRequest(request, message);
      log.message({ connection, call, kind: "request" }, request.method.input, message as never);
    };
    const end = (text: string): void => log.add({ connection, call, kind: "end", text });
    try {
      if (!request.stream) {
        seen(request.message);
        const response = await next(request);
        if (!response.stream) {
          log.message({ connection, call, kind: "message" }, response.method.output, response.message);
          end("OK");
        }
        return response;
      }
      const response = await next({ ...request, message: watch(request.message, seen) });
      if (!response.stream) return response;
      const message = watch(
        response.message,
        (one) => log.message({ connection, call, kind: "message" }, response.method.output, one),
        end,
      );
      return { ...response, message };
    } catch (error) {
      end(statusText(statusOf(error)));
      throw error;
    }
  };
}

async function* watch<T>(
  messages: AsyncIterable<T>,
  seen: (message: T) => void,
  ended: (how: string) => void = () => undefined,
): AsyncIterable<T> {
  try {
    for await (const message of messages) {
      seen(message);
      yield message;
    }
    ended("OK");
  } catch (error) {
    ended(statusText(statusOf(error)));
    throw error;
  }
}
