import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  type GenerateResponse,
  ModelService,
  type ReadCaptureRequestSchema,
  type ReadCaptureResponse,
  type StreamGenerateRequestSchema,
  type StreamGenerateResponse,
} from "../gen/index.js";
import type { Channel } from "./channel.js";
import { type Client, type ClientCallOptions, type ClientOptions, createClient } from "./client.js";
import type { EventStream, OperationStream } from "./follow-operation.js";
import { followed, read } from "./followed-rpc.js";

/** A client of a model. */
export interface ModelClient extends Omit<Client<typeof ModelService>, "streamGenerate" | "readCapture"> {
  /**
   * Continues a conversation in pieces, ended by the whole answer. It is a call: one that may have been delivered is
   * never sent again, and a stream without its whole answer is an error (ALL-REPEAT-020).
   */
  streamGenerate(
    request: MessageInitShape<typeof StreamGenerateRequestSchema>,
    options?: ClientCallOptions,
  ): OperationStream<StreamGenerateResponse, GenerateResponse>;
  /** All calls of a gateway so far, over lost connections. */
  readCapture(
    request: MessageInitShape<typeof ReadCaptureRequestSchema>,
    options?: ClientCallOptions,
  ): EventStream<ReadCaptureResponse>;
}

/** A client of a model over a channel. */
export function modelClient(channel: Channel, options: ClientOptions = {}): ModelClient {
  const client = createClient(ModelService, channel, options);
  const scope = { channel, options };
  const { streamGenerate, readCapture } = ModelService.method;
  return {
    ...client,
    streamGenerate: followed(
      scope,
      { method: streamGenerate, call: client.streamGenerate },
      {
        sequence: () => 0n,
        gap: () => undefined,
        terminal: ({ event }) => (event.case === "completed" ? event.value : undefined),
      },
    ),
    readCapture: read(
      scope,
      { method: readCapture, call: client.readCapture },
      { sequence: (record) => record.sequence, gap: () => undefined },
    ),
  };
}
