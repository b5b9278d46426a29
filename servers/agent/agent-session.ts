import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import {
  type ActivateResponse,
  ActivateResponseSchema,
  type Budget,
  type EpisodeContext,
  type Item,
  type ReadTranscriptResponse,
  ReadTranscriptResponseSchema,
  type Reference,
  type Tool,
  type Usage,
} from "../../gen/index.js";
import { EventLog } from "../runtime/event-log.js";
import type { ModelPeer } from "./model-peer.js";
import type { ToolPeer } from "./tool-peer.js";

/** What the agent server keeps of a session. */
export interface AgentSession<Options> {
  readonly context: EpisodeContext;
  readonly agentId: string;
  readonly options: Options;
  readonly budget: Budget;
  readonly reference: Reference | undefined;
  /** The conversation so far, instructions first. */
  readonly conversation: Item[];
  readonly transcript: Transcript;
  readonly usage: Usage;
  tools: readonly Tool[];
  /** Let go with the session's release: after Close none of its credentials is used (AGT-CLOS-005). */
  model: ModelPeer | undefined;
  toolPeers: readonly ToolPeer[];
  /** Ends the running turn early, keeping its work. */
  interrupt: (() => void) | undefined;
}

/** Everything that a session saw and said, in order (AGT-READ-001). */
export class Transcript {
  readonly records: ReadTranscriptResponse[] = [];

  add(
    activationIndex: number,
    record: NonNullable<MessageInitShape<typeof ReadTranscriptResponseSchema>["record"]>,
  ): void {
    this.records.push(
      create(ReadTranscriptResponseSchema, {
        sequence: BigInt(this.records.length + 1),
        activationIndex,
        record,
      }),
    );
  }
}

/** The events of one activation. */
export function activationEvents(): EventLog<ActivateResponse> {
  return new EventLog<ActivateResponse>((event) => toBinary(ActivateResponseSchema, event).length);
}
