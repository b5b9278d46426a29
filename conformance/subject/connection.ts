import type { DescService } from "@bufbuild/protobuf";
import { ConnectError, type Interceptor, type Transport } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { grpcJsStack } from "./grpc-js-stack.js";
import { statusOf, statusText } from "./reply.js";
import type { Seen } from "./seen.js";
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
  /** Told of everything: each request before it leaves, each answer, each end. */
  readonly onSeen: (seen: Seen) => void;
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

/** Writes each call into the log and tells of what it brings. */
function recording({ log, number: connection, onSeen, signal }: ConnectionOptions): Interceptor {
  let calls = 0;
  return (next) => async (request) => {
    calls += 1;
    const { method } = request;
    const call = `${request.service.name}.${method.name}#${calls}`;
    const sent = (message: object): void => {
      onSeen({ kind: "request", method, message });
      log.message({ connection, call, kind: "request" }, method.input, message as never);
    };
    const came = (message: object): void => {
      onSeen({ kind: "answer", method, message });
      log.message({ connection, call, kind: "message" }, method.output, message as never);
    };
    const end = (error: unknown, metadata: Headers): void => {
      const status = error === undefined ? undefined : statusOf(error);
      // A call that the end of its check cut short says nothing of the subject.
      if (!signal.aborted) onSeen({ kind: "end", method, status, metadata });
      log.add({ connection, call, kind: "end", text: statusText(status) });
    };
    try {
      if (!request.stream) {
        sent(request.message);
        const response = await next(request);
        if (!response.stream) came(response.message);
        end(undefined, joined(response.header, response.trailer));
        return response;
      }
      const response = await next({ ...request, message: watch(request.message, sent) });
      if (!response.stream) return response;
      const message = watch(response.message, came, (error) =>
        end(error, error === undefined ? joined(response.header, response.trailer) : metadataIn(error)),
      );
      return { ...response, message };
    } catch (error) {
      end(error, metadataIn(error));
      throw error;
    }
  };
}

function joined(...parts: readonly Headers[]): Headers {
  const all = new Headers();
  for (const [name, value] of parts.flatMap((part) => [...part])) all.append(name, value);
  return all;
}

function metadataIn(error: unknown): Headers {
  return ConnectError.from(error).metadata;
}

async function* watch<T>(
  messages: AsyncIterable<T>,
  seen: (message: T) => void,
  ended: (error: unknown) => void = () => undefined,
): AsyncIterable<T> {
  try {
    for await (const message of messages) {
      seen(message);
      yield message;
    }
  } catch (error) {
    ended(error);
    throw error;
  }
  ended(undefined);
}
