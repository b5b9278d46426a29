import { create, type DescMessage, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf";
import type { Interceptor, StreamResponse, Transport } from "@connectrpc/connect";
import { Code, ConnectError, createContextValues } from "@connectrpc/connect";
import { createMethodUrl, runStreamingCall, runUnaryCall } from "@connectrpc/connect/protocol";
import { ChannelCredentials, Client, Metadata, type ServiceError } from "@grpc/grpc-js";
import { StatusSchema } from "../../gen/google/rpc/status_pb.js";
import { codeOfNumber, type StatusDetail, unpackDetails } from "./reply.js";

/** How a grpc-js connection is made. */
export interface GrpcJsOptions {
  /** `host:port` */
  readonly authority: string;
  /** Certificates; undefined: plaintext. */
  readonly tls: { ca?: Buffer; key?: Buffer; cert?: Buffer } | undefined;
  /** Run around each call. */
  readonly interceptors: Interceptor[];
}

/** A grpc-js channel behind connect's Transport, so that the same checks run on both libraries. */
export function grpcJsStack(options: GrpcJsOptions): { transport: Transport; close(): void } {
  const { authority, tls, interceptors } = options;
  const credentials =
    tls === undefined
      ? ChannelCredentials.createInsecure()
      : ChannelCredentials.createSsl(tls.ca ?? null, tls.key ?? null, tls.cert ?? null);
  const client = new Client(authority, credentials, {
    // One connection a stack: a check that cuts its connection must not cut another's.
    "grpc.use_local_subchannel_pool": 1,
    "grpc.max_receive_message_length": -1,
    "grpc.max_send_message_length": -1,
    // A check judges what the server said, not what a retry made of it.
    "grpc.enable_retries": 0,
  });
  const transport: Transport = {
    async unary(method, signal, timeoutMs, header, input, contextValues) {
      return runUnaryCall({
        interceptors,
        ...(signal === undefined ? {} : { signal }),
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
        req: {
          stream: false,
          service: method.parent,
          method,
          requestMethod: "POST",
          url: createMethodUrl(`http://${authority}`, method),
          header: new Headers(header),
          contextValues: contextValues ?? createContextValues(),
          message: input,
        },
        next: async (request) => {
          const call = open(client, method, request.header, timeoutMs, request.signal);
          await call.write(request.message);
          call.end();
          const messages = await collect(call.messages());
          const [message] = messages;
          if (message === undefined || messages.length > 1) {
            throw new ConnectError(`${messages.length} answers to a unary call`, Code.Unimplemented);
          }
          return {
            stream: false,
            service: method.parent,
            method,
            header: call.header,
            trailer: call.trailer,
            message,
          };
        },
      });
    },
    async stream(method, signal, timeoutMs, header, input, contextValues) {
      return runStreamingCall({
        interceptors,
        ...(signal === undefined ? {} : { signal }),
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
        req: {
          stream: true,
          service: method.parent,
          method,
          requestMethod: "POST",
          url: createMethodUrl(`http://${authority}`, method),
          header: new Headers(header),
          contextValues: contextValues ?? createContextValues(),
          message: input,
        },
        next: async (request): Promise<StreamResponse<typeof method.input, typeof method.output>> => {
          const call = open(client, method, request.header, timeoutMs, request.signal);
          const sending = (async () => {
            for await (const message of request.message) await call.write(message);
            call.end();
          })();
          // A call that ended refuses what is still sent: the reader hears why.
          sending.catch(() => call.cancel());
          return {
            stream: true,
            service: method.parent,
            method,
            header: call.header,
            trailer: call.trailer,
            message: call.messages(),
          };
        },
      });
    },
  };
  return { transport, close: () => client.close() };
}

async function collect<T>(messages: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const message of messages) all.push(message);
  return all;
}

interface OpenCall<I extends DescMessage, O extends DescMessage> {
  readonly header: Headers;
  readonly trailer: Headers;
  write(message: MessageShape<I>): Promise<void> | undefined;
  end(): void;
  cancel(): void;
  messages(): AsyncIterable<MessageShape<O>>;
}

interface RpcDescriptor<I extends DescMessage, O extends DescMessage> {
  readonly name: string;
  readonly parent: { readonly typeName: string };
  readonly input: I;
  readonly output: O;
}

function open<I extends DescMessage, O extends DescMessage>(
  client: Client,
  method: RpcDescriptor<I, O>,
  headers: Headers,
  timeoutMs: number | undefined,
  signal: AbortSignal,
): OpenCall<I, O> {
  const call = client.makeBidiStreamRequest<MessageShape<I>, MessageShape<O>>(
    `/${method.parent.typeName}/${method.name}`,
    (message) => Buffer.from(toBinary(method.input, create(method.input, message))),
    (bytes) => fromBinary(method.output, bytes),
    toMetadata(headers),
    timeoutMs === undefined ? {} : { deadline: Date.now() + timeoutMs },
  );
  const header = new Headers();
  const trailer = new Headers();
  call.on("metadata", (metadata: Metadata) => copyInto(header, metadata));
  call.on("status", (status: { metadata: Metadata }) => copyInto(trailer, status.metadata));
  // Whoever reads the messages hears of it; without a listener it would end the process.
  call.on("error", () => undefined);
  const cancel = (): void => call.cancel();
  if (signal.aborted) cancel();
  else signal.addEventListener("abort", cancel, { once: true });
  call.once("close", () => signal.removeEventListener("abort", cancel));
  return {
    header,
    trailer,
    cancel,
    end: () => call.end(),
    write: (message) =>
      call.write(message)
        ? undefined
        : new Promise<void>((resolve, reject) => {
            call.once("drain", resolve);
            call.once("error", reject);
          }),
    async *messages() {
      try {
        for await (const message of call) yield message as MessageShape<O>;
      } catch (error) {
        throw toConnectError(error, header);
      } finally {
        signal.removeEventListener("abort", cancel);
      }
    },
  };
}

function toMetadata(headers: Headers): Metadata {
  const metadata = new Metadata();
  headers.forEach((value, name) => {
    metadata.add(name, name.endsWith("-bin") ? Buffer.from(value, "base64") : value);
  });
  return metadata;
}

function copyInto(headers: Headers, metadata: Metadata): void {
  for (const name of Object.keys(metadata.getMap())) {
    for (const value of metadata.get(name)) {
      headers.append(name, typeof value === "string" ? value : value.toString("base64"));
    }
  }
}

/** As connect-node does it, an error's metadata holds headers and trailers together. */
function toConnectError(error: unknown, header: Headers): ConnectError {
  if (!(error instanceof Error) || !("code" in error)) return ConnectError.from(error);
  const { code, details, metadata } = error as ServiceError;
  const made = new ConnectError(details, codeOfNumber(code), header);
  copyInto(made.metadata, metadata);
  const [status] = metadata.get("grpc-status-details-bin");
  if (status instanceof Buffer) made.details = decodeDetails(status);
  return made;
}

function decodeDetails(bytes: Uint8Array): StatusDetail[] {
  try {
    return unpackDetails(fromBinary(StatusSchema, bytes));
  } catch {
    return [];
  }
}
