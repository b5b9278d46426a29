import { create } from "@bufbuild/protobuf";
import { encodedBytes } from "../../clients/channel/encode-message.js";
import {
  type CleanUp,
  type EpisodeEvent,
  EpisodeEventSchema,
  type EpisodeOutcome,
  type ResourceIntent,
  type RunRequest,
  StopMode,
} from "../../gen/index.js";
import { keptMessageLimit } from "../runtime/answer-limit.js";
import type { Timer } from "../runtime/clock.js";
import { toMs } from "../runtime/duration.js";
import { EventLog } from "../runtime/event-log.js";
import { cancelledFailure, type OperationFailure } from "../runtime/failure.js";
import type { Operation } from "../runtime/operation.js";
import { Refusal } from "../runtime/refusal.js";
import type { Runtime } from "../runtime/runtime.js";
import { type EpisodeJournal, noJournal } from "./episode-journal.js";
import type { StoredContent } from "./episode-store.js";
import { unwatched, type WatchedEpisode } from "./episode-watch.js";
import type { EpisodeTold } from "./phases.js";
import { isRelayed } from "./relayed-names.js";
import { Trajectory } from "./trajectory.js";

/** Milliseconds that an episode goes on without a reader where Run says nothing (EPI-E2-009). */
const defaultOrphanGraceMs = 120_000;
/** Bytes that an event or a record may be wrapped in. */
const wrappingBytes = 256;

/** What a record is made of. */
export interface EpisodeRecordParts {
  readonly runtime: Runtime;
  /** What was written down of it before. */
  readonly stored?: StoredContent;
}

/** What could not be released, and is this server's to release. */
export function leftOf(cleanUps: readonly CleanUp[]): ResourceIntent[] {
  return cleanUps.flatMap(({ released, resource }) =>
    released || resource === undefined || isRelayed(resource) ? [] : [resource],
  );
}

/** One episode that this server knows: its events, who reads them, and how it was told to end. */
export class EpisodeRecord {
  readonly events: EventLog<EpisodeEvent>;
  /** Where it is written down. */
  journal: EpisodeJournal = noJournal;
  /** Who watches it. */
  watched: WatchedEpisode = unwatched;
  readonly trajectory: Trajectory;
  /** What it made and could not release. */
  left: ResourceIntent[] = [];
  operation: Operation<EpisodeOutcome> | undefined;
  readonly #runtime: Runtime;
  readonly #abandon = new AbortController();
  readonly #finish = new AbortController();
  readonly #orphanGraceMs: number;
  readonly #maxEventBytes: number;
  #orphan: Timer | undefined;
  #stopped: { readonly mode: StopMode; readonly reason: string } | undefined;
  #acked = false;

  constructor(
    readonly key: string,
    { orphanGrace }: RunRequest,
    { runtime, stored }: EpisodeRecordParts,
  ) {
    this.#runtime = runtime;
    this.#maxEventBytes = keptMessageLimit(runtime.limits) - wrappingBytes;
    this.trajectory = new Trajectory(this.#maxEventBytes, (record) => this.journal.recorded(record));
    this.#orphanGraceMs = orphanGrace === undefined ? defaultOrphanGraceMs : toMs(orphanGrace);
    const kept = (stored?.acked === true ? stored.events.slice(-1) : stored?.events) ?? [];
    const gone = (stored?.events.length ?? 0) - kept.length;
    this.events = new EventLog((event) => encodedBytes(EpisodeEventSchema, event), { last: BigInt(gone) });
    if (stored !== undefined) this.#restore(stored, kept);
  }

  /** Takes in what was written down of it. */
  #restore({ acked, endedAt, trajectory }: StoredContent, events: readonly EpisodeEvent[]): void {
    const last = endedAt === undefined ? undefined : events.at(-1);
    for (const event of events) if (event !== last) this.events.append(event);
    if (last !== undefined) this.events.end(last);
    this.#acked = acked;
    const outcome = last?.event.case === "outcome" ? last.event.value : undefined;
    this.trajectory.restore(trajectory, acked ? outcome?.trajectory : undefined);
    this.left = leftOf(outcome?.cleanUps ?? []);
  }

  /** Aborts, with the failure as reason, when the episode must end without a verdict. */
  get abandoned(): AbortSignal {
    return this.#abandon.signal;
  }

  /** Aborts when the agent's turn must end and its work be verified. */
  get finished(): AbortSignal {
    return this.#finish.signal;
  }

  /** The reason that Stop gave; empty: it was not stopped. */
  get stopReason(): string {
    return this.#stopped?.reason ?? "";
  }

  /** It has its outcome. */
  get ended(): boolean {
    return this.operation?.outcome !== undefined;
  }

  /** Tells an event; an item or a step that no message could hold is left to the trajectory's account. */
  readonly tell = (event: EpisodeTold): void => {
    const told = create(EpisodeEventSchema, { event });
    const large = event.case === "item" || event.case === "step";
    if (large && encodedBytes(EpisodeEventSchema, told) > this.#maxEventBytes) return;
    this.events.append(told);
    this.journal.event(told);
    if (told.event.case === "stage") this.watched.stage(told.event.value);
  };

  /** Ends the episode without a verdict; the first reason holds. */
  abandon(failure: OperationFailure): void {
    this.#abandon.abort(failure);
  }

  /** Ends the episode early; answers whether it had been, or had ended, before (EPI-STOP-004, EPI-STOP-005). */
  stop(mode: StopMode, reason: string): boolean {
    const before = this.#stopped?.mode;
    if (this.ended || before === mode || before === StopMode.ABANDON) return true;
    this.#stopped = { mode, reason };
    if (mode === StopMode.ABANDON) this.abandon(cancelledFailure("the episode was stopped"));
    else this.#finish.abort();
    return false;
  }

  /** A reader follows the episode until what this answers is called; without any it is an orphan (EPI-E2-008). */
  reads(): () => void {
    this.#orphan?.cancel();
    return () => {
      if (this.events.readers > 0 || this.ended) return;
      this.#orphan?.cancel();
      if (this.operation?.state !== "running") return;
      this.#orphan = this.#runtime.clock.setTimer(this.#orphanGraceMs, () => {
        if (this.events.readers === 0) this.abandon(cancelledFailure("nobody read the episode's events"));
      });
    };
  }

  /** Tells the outcome, behind which nothing comes (ALL-EVT-003). */
  end(outcome: EpisodeOutcome): void {
    this.#orphan?.cancel();
    const last = create(EpisodeEventSchema, { event: { case: "outcome", value: outcome } });
    this.events.end(last);
    this.journal.ended(last);
    this.watched.end(outcome);
  }

  /** The caller has stored the outcome; answers whether it had said so before (EPI-ACK-001, EPI-ACK-002). */
  ack(): boolean {
    if (!this.ended) {
      throw new Refusal("SESSION_BUSY", "the episode still runs; acknowledge it when its outcome has come");
    }
    const before = this.#acked;
    if (!before) {
      this.#acked = true;
      this.events.shrink();
      this.trajectory.release();
      this.journal.acked();
    }
    return before;
  }
}
