import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { encodedBytes } from "../../clients/channel/encode-message.js";
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
  /** What holds for a turn that is given no budget of its own, as Open echoed it. */
  readonly budget: Budget;
  /** The most that any turn's budget may be. */
  readonly maxBudget: Budget;
  readonly reference: Reference | undefined;
  /** The conversation so far, instructions first. */
  readonly conversation: Item[];
  readonly transcript: Transcript;
  readonly usage: Usage;
  tools: readonly Tool[];
  /** Let go with the session's release: after Close none of its credentials is used (AGT-CLOS-005). */
  model: ModelPeer | undefined;
  toolPeers: readonly ToolPeer[];
  /** Ends the running turn early, keeping its work; undefined where none runs. */
  interrupt: (() => void) | undefined;
}

/** Everything that a session saw and said, in order (AGT-READ-001). */
export class Transcript {
  readonly #records: ReadTranscriptResponse[] = [];

  /** Number of records. */
  get length(): number {
    return this.#records.length;
  }

  add(
    activationIndex: number,
    record: NonNullable<MessageInitShape<typeof ReadTranscriptResponseSchema>["record"]>,
  ): void {
    const sequence = BigInt(this.#records.length + 1);
    this.#records.push(create(ReadTranscriptResponseSchema, { sequence, activationIndex, record }));
  }

  /** The records behind a sequence, as they are now. */
  after(sequence: bigint): readonly ReadTranscriptResponse[] {
    return this.#records.slice(Number(sequence));
  }
}

/** The events of one activation. */
export function activationEvents(): EventLog<ActivateResponse> {
  return new EventLog<ActivateResponse>((event) => encodedBytes(ActivateResponseSchema, event));
}
