import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  type ActivateRequestSchema,
  type ActivateResponse,
  AgentSessionService,
  type ReadTranscriptRequestSchema,
  type ReadTranscriptResponse,
} from "../gen/index.js";
import type { Channel } from "./channel.js";
import { type Client, type ClientCallOptions, type ClientOptions, createClient } from "./client.js";
import type { EventStream, OperationStream } from "./follow-operation.js";
import { followed, read } from "./followed-rpc.js";

/** How a turn ended: `completed`, or `failed` with a failure. */
export type ActivationEnd = Extract<ActivateResponse["event"], { case: "completed" | "failed" }>;

/** A client of an agent. */
export interface AgentSessionClient
  extends Omit<Client<typeof AgentSessionService>, "activate" | "readTranscript"> {
  /** Gives the agent its turn and follows it to its end, over lost connections. */
  activate(
    request: MessageInitShape<typeof ActivateRequestSchema>,
    options?: ClientCallOptions,
  ): OperationStream<ActivateResponse, ActivationEnd>;
  /** Everything that the session saw and said so far. */
  readTranscript(
    request: MessageInitShape<typeof ReadTranscriptRequestSchema>,
    options?: ClientCallOptions,
  ): EventStream<ReadTranscriptResponse>;
}

/** A client of an agent over a channel. */
export function agentSessionClient(channel: Channel, options: ClientOptions = {}): AgentSessionClient {
  const client = createClient(AgentSessionService, channel, options);
  const scope = { channel, options };
  const { activate, readTranscript } = AgentSessionService.method;
  return {
    ...client,
    activate: followed(
      scope,
      { method: activate, call: client.activate },
      {
        sequence: (event) => event.sequence,
        gap: ({ event }) => (event.case === "gap" ? event.value.untilSequence : undefined),
        terminal: ({ event }) => (event.case === "completed" || event.case === "failed" ? event : undefined),
      },
    ),
    readTranscript: read(
      scope,
      { method: readTranscript, call: client.readTranscript },
      { sequence: (record) => record.sequence, gap: () => undefined },
    ),
  };
}
