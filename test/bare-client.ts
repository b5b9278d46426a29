import {
  create,
  type DescMessage,
  type DescMethod,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import * as grpc from "@grpc/grpc-js";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../gen/google/rpc/error_details_pb.js";
import { StatusSchema } from "../gen/google/rpc/status_pb.js";
import { type Failure, FailureSchema } from "../gen/index.js";

/** A call that did not end well, as a stranger reads it: with plain grpc-js and the details trailer, nothing of ours. */
export interface BareError {
  readonly code: string;
  readonly message: string;
  readonly reason: string | undefined;
  readonly metadata: Readonly<Record<string, string>>;
  readonly fields: readonly string[];
  readonly retryAfterMs: number | undefined;
  readonly failure: Failure | undefined;
}

/** What came of a unary call. */
export interface BareAnswer<T> {
  readonly message: T | undefined;
  readonly error: BareError | undefined;
  readonly delivery: string | undefined;
  readonly instance: string | undefined;
}

/** What came of a stream. */
export interface BareStream<T> extends Omit<BareAnswer<T>, "message"> {
  readonly messages: readonly T[];
}

/** A bidirectional call. */
export interface BareDuplex<I, O> {
  write(request: I): void;
  /** The next answer; undefined when there is none any more. */
  read(): Promise<O | undefined>;
  /** Half-closes. */
  end(): void;
  cancel(): void;
}

/** How a call is made. */
export interface BareOptions {
  readonly metadata?: Readonly<Record<string, string>>;
  readonly deadlineMs?: number;
  /** Given the call, so that a test may cancel it. */
  readonly onCall?: (call: { cancel(): void }) => void;
}

/** A plain grpc-js client on a connection of its own. */
export class BareClient {
  readonly #client: grpc.Client;

  constructor(url: string) {
    this.#client = new grpc.Client(new URL(url).host, grpc.credentials.createInsecure(), {
      "grpc.use_local_subchannel_pool": 1,
    });
  }

  async unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethod & { input: I; output: O },
    request: MessageInitShape<I>,
    options: BareOptions = {},
  ): Promise<BareAnswer<MessageShape<O>>> {
    return await new Promise((resolve) => {
      let error: grpc.ServiceError | null = null;
      let message: MessageShape<O> | undefined;
      let instance: string | undefined;
      const call = this.#client.makeUnaryRequest(
        path(method),
        (input: MessageShape<I>) => Buffer.from(toBinary(method.input, input)),
        (bytes: Buffer) => fromBinary(method.output, bytes),
        create(method.input, request),
        metadataOf(options),
        callOptions(options),
        (failed, answer) => {
          error = failed;
          message = answer;
        },
      );
      call.on("metadata", (headers: grpc.Metadata) => {
        instance = text(headers, "touchstone-instance");
      });
      call.on("status", (status: grpc.StatusObject) => {
        setImmediate(() =>
          resolve({
            message,
            error: error === null ? undefined : readError(error),
            delivery: text(status.metadata, "touchstone-delivery"),
            instance: instance ?? text(status.metadata, "touchstone-instance"),
          }),
        );
      });
      options.onCall?.(call);
    });
  }

  async stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethod & { input: I; output: O },
    request: MessageInitShape<I>,
    options: BareOptions & { readonly onMessage?: (message: MessageShape<O>) => void } = {},
  ): Promise<BareStream<MessageShape<O>>> {
    return await new Promise((resolve) => {
      const messages: MessageShape<O>[] = [];
      let instance: string | undefined;
      const call = this.#client.makeServerStreamRequest(
        path(method),
        (input: MessageShape<I>) => Buffer.from(toBinary(method.input, input)),
        (bytes: Buffer) => fromBinary(method.output, bytes),
        create(method.input, request),
        metadataOf(options),
        callOptions(options),
      );
      call.on("data", (message: MessageShape<O>) => {
        messages.push(message);
        options.onMessage?.(message);
      });
      call.on("error", () => {});
      call.on("metadata", (headers: grpc.Metadata) => {
        instance = text(headers, "touchstone-instance");
      });
      call.on("status", (status: grpc.StatusObject) => {
        resolve({
          messages,
          error: status.code === grpc.status.OK ? undefined : readError(status),
          delivery: text(status.metadata, "touchstone-delivery"),
          instance: instance ?? text(status.metadata, "touchstone-instance"),
        });
      });
      options.onCall?.(call);
    });
  }

  /** A bidirectional call, for a test to write and read as it likes. */
  duplex<I extends DescMessage, O extends DescMessage>(
    method: DescMethod & { input: I; output: O },
    options: BareOptions = {},
  ): BareDuplex<MessageInitShape<I>, MessageShape<O>> {
    const call = this.#client.makeBidiStreamRequest(
      path(method),
      (input: MessageShape<I>) => Buffer.from(toBinary(method.input, input)),
      (bytes: Buffer) => fromBinary(method.output, bytes),
      metadataOf(options),
      callOptions(options),
    );
    call.on("error", () => {});
    const answers = call[Symbol.asyncIterator]();
    return {
      write: (request) => void call.write(create(method.input, request)),
      async read() {
        const next = await answers.next();
        return next.done === true ? undefined : (next.value as MessageShape<O>);
      },
      end: () => call.end(),
      cancel: () => call.cancel(),
    };
  }

  close(): void {
    this.#client.close();
  }
}

function path(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}

function metadataOf({ metadata = {} }: BareOptions): grpc.Metadata {
  const headers = new grpc.Metadata();
  for (const [name, value] of Object.entries(metadata)) headers.set(name, value);
  return headers;
}

function callOptions({ deadlineMs }: BareOptions): grpc.CallOptions {
  return deadlineMs === undefined ? {} : { deadline: Date.now() + deadlineMs };
}

function text(metadata: grpc.Metadata | undefined, name: string): string | undefined {
  const [value] = metadata?.get(name) ?? [];
  return value === undefined ? undefined : String(value);
}

function readError({ code, details, metadata }: grpc.StatusObject): BareError {
  const [bytes] = metadata.get("grpc-status-details-bin");
  const any = bytes === undefined ? [] : fromBinary(StatusSchema, bytes as Buffer).details;
  const find = <D extends DescMessage>(schema: D): MessageShape<D> | undefined => {
    const detail = any.find(({ typeUrl }) => typeUrl.endsWith(`/${schema.typeName}`));
    return detail === undefined ? undefined : fromBinary(schema, detail.value);
  };
  const info = find(ErrorInfoSchema);
  const delay = find(RetryInfoSchema)?.retryDelay;
  return {
    code: grpc.status[code] ?? String(code),
    message: details,
    reason: info?.domain === "touchstone" ? info.reason : undefined,
    metadata: info?.metadata ?? {},
    fields: find(BadRequestSchema)?.fieldViolations.map(({ field }) => field) ?? [],
    retryAfterMs: delay === undefined ? undefined : Number(delay.seconds) * 1000 + delay.nanos / 1e6,
    failure: find(FailureSchema),
  };
}
