import { clone, create, type MessageInitShape } from "@bufbuild/protobuf";
import { encodedBytes } from "../../clients/channel/encode-message.js";
import {
  type ActivateResponse,
  ActivateResponseSchema,
  type Failure,
  FailureKind,
  type GenerateResponse,
  type Item,
  ItemSchema,
  ModelCallSummarySchema,
  Retry,
  Stage,
  type StopReason,
} from "../../gen/index.js";
import type { Clock } from "../runtime/clock.js";
import { fromMs } from "../runtime/duration.js";
import type { EventLog } from "../runtime/event-log.js";
import { OperationFailure, toFailure } from "../runtime/failure.js";
import type { AgentSession } from "./agent-session.js";
import type { BudgetMeter } from "./budget-meter.js";

/** What a turn's record is made of. */
export interface TurnRecordParts {
  readonly session: Pick<AgentSession<unknown>, "agentId" | "transcript">;
  readonly index: number;
  readonly meter: BudgetMeter;
  readonly events: EventLog<ActivateResponse>;
  readonly clock: Clock;
  /** Bytes that all that the turn says may have together: its last event holds it (ALL-SIZE-001). */
  readonly maxOutputBytes: number;
}

/** A model call that is on its way; told of its end once. */
export interface ModelCallUnderWay {
  answered(response: GenerateResponse): void;
  failed(failure: Failure): void;
}

/** Bytes that an item may have beside its own in the message that holds it. */
const framingBytes = 8;

/**
 * What a turn says, does and uses, told as it happens (AGT-ACT-026). Once the turn has its outcome nothing more is heard:
 * a harness that goes on all the same changes neither events nor transcript nor counts.
 */
export class TurnRecord {
  readonly output: Item[] = [];
  readonly #parts: TurnRecordParts;
  readonly #underWay = new Set<ModelCallUnderWay>();
  #outputBytes = 0;
  #stopReason: StopReason | undefined;
  #over = false;

  constructor(parts: TurnRecordParts) {
    this.#parts = parts;
  }

  /** Why the turn must end, or has ended; undefined while it goes on, and where it failed. */
  get stopReason(): StopReason | undefined {
    return this.#stopReason;
  }

  /** The turn must end for this reason; the first one holds. */
  stop(reason: StopReason): void {
    this.#stopReason ??= reason;
  }

  /** Records what the session says or does; it carries its agent_id (AGT-OPEN-008). Answers it as it was recorded. */
  say(item: Item): Item {
    return this.#add(item, this.#parts.session.agentId);
  }

  /** Records what the environment answered, its own as it came. */
  hear(item: Item): Item {
    return this.#add(item, item.agentId);
  }

  /** A model call begins. */
  modelCall(): ModelCallUnderWay {
    const { clock, meter } = this.#parts;
    const began = clock.now();
    meter.modelCallBegun();
    const end = (
      told: MessageInitShape<typeof ModelCallSummarySchema>,
      usage?: GenerateResponse["usage"],
    ) => {
      if (this.#over || !this.#underWay.delete(call)) return;
      const ms = clock.now() - began;
      meter.modelCallEnded(usage, ms);
      this.#tellCall({ ...told, duration: fromMs(ms) });
    };
    const call: ModelCallUnderWay = {
      answered: ({ callId, usage }) => end({ callId, ...(usage === undefined ? {} : { usage }) }, usage),
      failed: (failure) => end({ failure }),
    };
    this.#underWay.add(call);
    return call;
  }

  /** The turn has its outcome; a model call that is still on its way is told as cut. */
  end(): void {
    const cut = new OperationFailure({
      kind: FailureKind.CANCELLED,
      retry: Retry.NEW_ATTEMPT,
      reason: "the turn ended before the model had answered",
    });
    const failure = toFailure(cut, { stage: Stage.ACTIVATE, agentId: this.#parts.session.agentId });
    for (const call of [...this.#underWay]) call.failed(failure);
    this.#over = true;
  }

  /** Throws where the turn's output grows too large to be told. */
  #add(item: Item, agentId: string): Item {
    const { session, index, events, maxOutputBytes } = this.#parts;
    const own = clone(ItemSchema, item);
    own.agentId = agentId;
    if (own.itemId === "") own.itemId = `${index}-${this.output.length}`;
    if (this.#over) return own;
    const bytes = this.#outputBytes + encodedBytes(ItemSchema, own) + framingBytes;
    if (bytes > maxOutputBytes) throw tooMuchOutput(bytes, maxOutputBytes);
    this.#outputBytes = bytes;
    this.output.push(own);
    session.transcript.add(index, { case: "item", value: own });
    events.append(create(ActivateResponseSchema, { event: { case: "item", value: own } }));
    return own;
  }

  #tellCall(told: MessageInitShape<typeof ModelCallSummarySchema>): void {
    const { session, index, events } = this.#parts;
    const summary = create(ModelCallSummarySchema, told);
    session.transcript.add(index, { case: "modelCall", value: summary });
    events.append(create(ActivateResponseSchema, { event: { case: "modelCall", value: summary } }));
  }
}

function tooMuchOutput(actual: number, limit: number): OperationFailure {
  return new OperationFailure({
    kind: FailureKind.HARNESS_CRASHED,
    retry: Retry.NEVER,
    reason: `the turn's output has ${actual} bytes, more than the ${limit} that its last event may hold`,
    detailsJson: JSON.stringify({ limit, actual }),
  });
}
