import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import {
  type ChannelCredentials,
  Client,
  type ClientDuplexStream,
  type ClientOptions,
  type ClientReadableStream,
  credentials,
  Metadata,
  type ServiceError,
} from "@grpc/grpc-js";
import { type Probe, ProbeSchema } from "./gen/transport/probe/v1/probe_pb.js";

/** What a test sends. */
export type ProbeInit = MessageInitShape<typeof ProbeSchema>;

/** What one unary call brought. */
export interface UnaryOutcome {
  readonly answer: Probe | undefined;
  readonly error: ServiceError | null;
}

const PATH = "/transport.probe.v1.ProbeService/";
const write = (probe: Probe): Buffer => Buffer.from(toBinary(ProbeSchema, probe));
const read = (bytes: Buffer): Probe => fromBinary(ProbeSchema, bytes);

/** A plain grpc-js client of the probe service: another implementation than the one under test. */
export class ProbeClient extends Client {
  /** @param url - As a port gives it; only its host and port count. */
  constructor(url: string, options?: { credentials?: ChannelCredentials; channel?: ClientOptions }) {
    super(new URL(url).host, options?.credentials ?? credentials.createInsecure(), options?.channel ?? {});
  }

  unary(
    init: ProbeInit,
    call: { readonly metadata?: Metadata; readonly deadline?: Date; readonly path?: string } = {},
  ): Promise<UnaryOutcome> {
    const { metadata, deadline, path } = call;
    return new Promise((resolve) => {
      this.makeUnaryRequest(
        path ?? `${PATH}Unary`,
        write,
        read,
        create(ProbeSchema, init),
        metadata ?? new Metadata(),
        deadline === undefined ? {} : { deadline },
        (error, answer) => resolve({ answer, error }),
      );
    });
  }

  serverStream(init: ProbeInit, options: { deadline?: Date } = {}): ClientReadableStream<Probe> {
    return this.makeServerStreamRequest(
      `${PATH}ServerStream`,
      write,
      read,
      create(ProbeSchema, init),
      options,
    );
  }

  bidi(options: { deadline?: Date } = {}): ClientDuplexStream<Probe, Probe> {
    return this.makeBidiStreamRequest(`${PATH}Bidi`, write, read, options);
  }
}
