import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { DescMethod, Registry } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { BoundMethod, CallInit, CallServer } from "./call-init.js";
import { parseGrpcTimeout } from "./deadline.js";
import { GrpcCall } from "./grpc-call.js";
import { createMessageCodec, type MessageCodec, type MessageFormat } from "./message-codec.js";
import { HEADERS_ONLY } from "./respond-options.js";
import type { ServiceRoute } from "./service-route.js";
import { errorTrailers } from "./status.js";
import { stopSender } from "./stop-sender.js";

/** What {@link createGrpcHandler} serves, and within which limits. */
export interface GrpcHandlerOptions {
  readonly routes: readonly ServiceRoute[];
  /** The largest request message, in bytes, also when unpacked. Larger ones end their call with RESOURCE_EXHAUSTED. */
  readonly maxReceiveBytes: number;
  /** The largest answer message, in bytes before compression. Larger ones end their call with RESOURCE_EXHAUSTED. */
  readonly maxSendBytes: number;
  /** Default: {@link createMessageCodec} with `registry`. */
  readonly codec?: MessageCodec;
  /** Types that `google.protobuf.Any` may hold in JSON. */
  readonly registry?: Registry;
  /** Hears of everything that is not a ConnectError: the client only gets INTERNAL "internal error". */
  readonly onInternalError?: (method: DescMethod, error: unknown) => void;
  /** Answer in gzip to clients that take it. Default false. gzip requests are always read. */
  readonly compress?: boolean;
  /** Fires the signal of every open and every later call; the implementations decide how they end. */
  readonly shutdownSignal?: AbortSignal;
}

/** A listener for the 'stream' event of an HTTP/2 server, for the streams that {@link isGrpc} accepts. */
export interface GrpcHandler {
  (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, flags?: number): void;
  /** Ends every open call with this status. */
  abortAll(reason: ConnectError): void;
}

const CONTENT_TYPE = /^application\/grpc(?:\+([a-z0-9.-]+))?(?:;.*)?$/i;
const FORMATS: ReadonlyMap<string, MessageFormat> = new Map([
  ["proto", "proto"],
  ["json", "json"],
]);

/** Whether a request with this content type is gRPC's (and not, say, gRPC-Web's). */
export function isGrpc(contentType: string | undefined): boolean {
  return contentType !== undefined && /^application\/grpc(?:[+;]|$)/i.test(contentType);
}

/**
 * Serves gRPC on node:http2's core 'stream' API. It knows nothing of the services it serves, and it takes the same
 * implementation objects as connect-es, with the same handler context. Interceptors of connect-es do not run here:
 * put what should surround every call into a wrapper of the implementation.
 */
export function createGrpcHandler(options: GrpcHandlerOptions): GrpcHandler {
  const methods = bindMethods(options.routes);
  const open = new Set<GrpcCall>();
  const server: CallServer = {
    codec: options.codec ?? createMessageCodec(options.registry),
    maxReceiveBytes: options.maxReceiveBytes,
    maxSendBytes: options.maxSendBytes,
    onInternalError: options.onInternalError ?? (() => {}),
  };
  const { shutdownSignal } = options;
  shutdownSignal?.addEventListener("abort", () => {
    for (const call of open) call.warn(shutdownSignal.reason);
  });

  function handle(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    const contentType = CONTENT_TYPE.exec(headers["content-type"] ?? "");
    const format = contentType === null ? undefined : FORMATS.get(contentType[1]?.toLowerCase() ?? "proto");
    if (format === undefined) {
      refuse(stream, { ":status": 415 });
      return;
    }
    if (headers[":method"] !== "POST") {
      refuse(stream, { ":status": 405, allow: "POST" });
      return;
    }
    const responseHeaders: OutgoingHttpHeaders = {
      ":status": 200,
      "content-type": contentType?.[1] === undefined ? "application/grpc" : `application/grpc+${format}`,
    };
    try {
      const bound = findMethod(methods, headers[":path"] ?? "");
      const init = readHeaders(headers, { format, responseHeaders, compress: options.compress === true });
      const call = new GrpcCall(server, bound, { stream, init });
      open.add(call);
      if (shutdownSignal?.aborted === true) call.warn(shutdownSignal.reason);
      call.start(() => open.delete(call));
    } catch (error) {
      if (!(error instanceof ConnectError)) throw error;
      refuse(stream, {
        ...responseHeaders,
        ...errorTrailers(error, undefined),
        "grpc-accept-encoding": "identity,gzip",
      });
    }
  }

  return Object.assign(handle, {
    abortAll(reason: ConnectError): void {
      for (const call of open) call.abort(reason);
    },
  });
}

/** Answers with headers alone. */
function refuse(stream: ServerHttp2Stream, headers: OutgoingHttpHeaders): void {
  stream.on("error", () => {});
  stream.respond(headers, HEADERS_ONLY);
  stream.resume();
  stopSender(stream);
}

function bindMethods(routes: readonly ServiceRoute[]): ReadonlyMap<string, BoundMethod> {
  const methods = new Map<string, BoundMethod>();
  for (const { service, implementation } of routes) {
    for (const method of service.methods) {
      const path = `/${service.typeName}/${method.name}`;
      if (methods.has(path)) throw new Error(`${service.typeName} is routed twice; route each service once`);
      const found: unknown = implementation[method.localName];
      methods.set(path, {
        method,
        implementation:
          typeof found === "function"
            ? (found.bind(implementation) as BoundMethod["implementation"])
            : () => {
                throw unimplemented(path);
              },
      });
    }
  }
  return methods;
}

function findMethod(methods: ReadonlyMap<string, BoundMethod>, path: string): BoundMethod {
  const bound = methods.get(path);
  if (bound === undefined) throw unimplemented(path);
  return bound;
}

function unimplemented(path: string): ConnectError {
  return new ConnectError(`this server does not implement ${path}`, Code.Unimplemented);
}

function readHeaders(
  headers: IncomingHttpHeaders,
  known: { format: MessageFormat; responseHeaders: OutgoingHttpHeaders; compress: boolean },
): CallInit {
  const encoding = single(headers["grpc-encoding"]) ?? "identity";
  if (encoding !== "identity" && encoding !== "gzip") {
    throw new ConnectError(
      `this server does not read messages compressed with "${encoding}"; use identity or gzip`,
      Code.Unimplemented,
    );
  }
  const timeoutMs = parseGrpcTimeout(single(headers["grpc-timeout"]));
  const packAnswers = known.compress && acceptsGzip(single(headers["grpc-accept-encoding"]));
  return {
    headers,
    format: known.format,
    timeoutMs,
    unpackRequests: encoding === "gzip",
    packAnswers,
    responseHeaders: packAnswers
      ? { ...known.responseHeaders, "grpc-encoding": "gzip" }
      : known.responseHeaders,
  };
}

function acceptsGzip(accepted: string | undefined): boolean {
  return (accepted ?? "").split(",").some((name) => name.trim() === "gzip");
}

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(",") : value;
}
