import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { DescMethod, Registry } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import { compressionBrotli, compressionGzip, connectNodeAdapter } from "@connectrpc/connect-node";
import { COMPRESS_FROM_BYTES } from "../grpc/gzip.js";
import type { ServiceRoute } from "../grpc/service-route.js";
import { createOpenCalls } from "./open-calls.js";
import { LARGEST_MESSAGE_BYTES } from "./port-options.js";

/** What {@link createConnectHandler} serves, and within which limits (bytes). */
export interface ConnectHandlerOptions {
  readonly routes: readonly ServiceRoute[];
  readonly maxReceiveBytes: number;
  readonly maxSendBytes: number;
  readonly registry?: Registry;
  readonly compress: boolean;
  readonly onInternalError: (method: DescMethod, error: unknown) => void;
  readonly shutdownSignal?: AbortSignal;
}

/** A listener for calls over HTTP/1.1 and for HTTP/2's compatibility API. */
export interface ConnectHandler {
  (request: IncomingMessage | Http2ServerRequest, response: ServerResponse | Http2ServerResponse): void;
  /** Ends every open call with this status. */
  abortAll(reason: ConnectError): void;
}

/** Serves Connect and gRPC-Web, through connect-node; gRPC has its own handler. */
export function createConnectHandler(options: ConnectHandlerOptions): ConnectHandler {
  const { registry, shutdownSignal } = options;
  const calls = createOpenCalls(options.onInternalError);
  const handle = connectNodeAdapter({
    routes(router) {
      for (const { service, implementation } of options.routes) router.service(service, implementation);
    },
    grpc: false,
    readMaxBytes: options.maxReceiveBytes,
    writeMaxBytes: options.maxSendBytes,
    // For requests. Answers reach the least size for compression only where it is asked for.
    acceptCompression: [compressionGzip, compressionBrotli],
    compressMinBytes: options.compress ? COMPRESS_FROM_BYTES : LARGEST_MESSAGE_BYTES,
    interceptors: [calls.interceptor],
    ...(registry === undefined ? {} : { jsonOptions: { registry } }),
    ...(shutdownSignal === undefined ? {} : { shutdownSignal }),
  });
  return Object.assign(handle, { abortAll: calls.abortAll });
}
