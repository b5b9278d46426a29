import { create, toBinary } from "@bufbuild/protobuf";
import {
  Boundary,
  type CleanUp,
  type EpisodeEvent,
  EpisodeEventSchema,
  type EpisodeId,
  type EpisodeOutcome,
  FailureKind,
  type RunRequest,
  RunRequestSchema,
  Stage,
  StopMode,
} from "../../gen/index.js";
import type { Admission, Slot } from "../runtime/admission.js";
import type { Timer } from "../runtime/clock.js";
import { fromMs, toMs } from "../runtime/duration.js";
import { EventLog } from "../runtime/event-log.js";
import { cancelledFailure, toFailure } from "../runtime/failure.js";
import { fingerprint } from "../runtime/fingerprint.js";
import { episodeKey } from "../runtime/identity.js";
import type { Delivered } from "../runtime/ledger.js";
import type { Operation, Outcome } from "../runtime/operation.js";
import { failureOf } from "../runtime/peer-failure.js";
import { invalidField, Refusal } from "../runtime/refusal.js";
import type { Runtime } from "../runtime/runtime.js";
import { type Cast, type CastDescribed, type CastingPool, cast, checkPairs } from "./cast.js";
import { EpisodeRun } from "./episode-run.js";
import { outcomeOf } from "./outcome.js";
import { type PhaseTimeouts, timeoutsOf } from "./timeouts.js";
import { Trajectory } from "./trajectory.js";
import { checkUnreleased, closeUnreleased } from "./unreleased.js";

/** What the episodes of a server share. */
export interface EpisodesOptions {
  readonly runtime: Runtime;
  readonly pool: CastingPool;
  readonly timeouts: PhaseTimeouts;
}

/** Milliseconds that an episode goes on without a reader where Run says nothing (EPI-E2-009). */
const defaultOrphanGraceMs = 120_000;
const scope = "episodes";

/** What admission found out. */
interface Admitted {
  readonly cast: Cast;
  /** What all say of themselves, or why somebody could not be asked. */
  described: CastDescribed | unknown;
  slot: Slot | undefined;
  checkMs: number;
  waitedMs: number;
}

/** One episode that this server knows. */
export interface EpisodeRecord {
  readonly key: string;
  readonly request: RunRequest;
  readonly events: EventLog<EpisodeEvent>;
  readonly trajectory: Trajectory;
  readonly abandon: AbortController;
  readonly finish: AbortController;
  readonly orphanGraceMs: number;
  operation: Operation<EpisodeOutcome> | undefined;
  orphan: Timer | undefined;
  stopped: { readonly mode: StopMode; readonly reason: string } | undefined;
  acked: boolean;
}

/** The episodes of a server: each is an operation named by its attempt (R2). */
export class Episodes {
  readonly #records = new Map<string, EpisodeRecord>();
  readonly #admission: Admission;

  constructor(private readonly options: EpisodesOptions) {
    const { runtime, timeouts } = options;
    this.#admission = runtime.admission({
      clock: runtime.clock,
      max: runtime.limits.maxSessions,
      queueTimeoutMs: timeouts.queueMs,
    });
  }

  /** Episodes that have not ended. */
  get live(): number {
    let count = 0;
    for (const { operation } of this.#records.values()) if (operation?.outcome === undefined) count += 1;
    return count;
  }

  /** The episode of an attempt. Throws SESSION_UNKNOWN. */
  known(id: EpisodeId | undefined): EpisodeRecord {
    const record = id === undefined ? undefined : this.#records.get(episodeKey(id));
    if (record === undefined) throw new Refusal("SESSION_UNKNOWN", "no episode of this id is known here");
    return record;
  }

  /** Runs an episode, or finds the operation that did. */
  run(request: RunRequest): Delivered<EpisodeOutcome> & { readonly record: EpisodeRecord } {
    const { runtime, pool } = this.options;
    const episodeId = request.context?.episodeId;
    if (episodeId === undefined) throw invalidField("context.episode_id", "is required");
    const key = episodeKey(episodeId);
    const name = `run:${key}`;
    let asked: Admitted;
    const fresh = this.#records.get(key) ?? this.#newRecord(key, request);
    const delivered = runtime.ledger.perform<EpisodeOutcome>({
      scope,
      name,
      fingerprint: fingerprint(RunRequestSchema, request),
      events: () => fresh.events,
      admit: async (operation) => {
        if (runtime.draining)
          throw new Refusal("DRAINING", "this server takes nothing new; another replica may");
        asked = { cast: cast(pool, request), slot: undefined, checkMs: 0, waitedMs: 0, described: undefined };
        const began = runtime.clock.now();
        checkUnreleased(pool.peers, request.unreleased);
        this.#records.set(key, fresh);
        fresh.operation = operation;
        try {
          asked.described = await this.#describeAll(asked.cast);
          if (isDescribed(asked.described)) checkPairs(request, asked.described);
          const queued = runtime.clock.now();
          asked.checkMs = queued - began;
          asked.slot = await this.#admission.enter(() => operation.withdrawn);
          asked.waitedMs = runtime.clock.now() - queued;
        } catch (refusal) {
          this.#records.delete(key);
          throw refusal;
        }
      },
      execute: async (operation) => {
        try {
          return await this.#execute(fresh, operation, asked);
        } finally {
          asked.slot?.release();
          this.#forgetLater(fresh, name);
        }
      },
    });
    return { ...delivered, record: this.#records.get(key) ?? fresh };
  }

  /** A reader follows an episode until what this answers is called; without any it becomes an orphan (EPI-E2-008). */
  reads(record: EpisodeRecord): () => void {
    record.orphan?.cancel();
    record.orphan = undefined;
    return () => {
      if (record.events.readers > 0 || record.operation?.outcome !== undefined) return;
      // ALL-ADM-003: an episode that nobody waits for any more leaves the queue.
      record.operation?.withdraw();
      record.orphan?.cancel();
      record.orphan = this.options.runtime.clock.setTimer(record.orphanGraceMs, () => {
        if (record.events.readers === 0)
          record.abandon.abort(cancelledFailure("nobody read the episode's events"));
      });
    };
  }

  /** Ends an episode early; answers whether it had been, or had ended, before (EPI-STOP-004, EPI-STOP-005). */
  stop(id: EpisodeId | undefined, mode: StopMode, reason: string): boolean {
    const record = this.known(id);
    if (record.operation?.outcome !== undefined) return true;
    const before = record.stopped?.mode;
    if (before === mode || before === StopMode.ABANDON) return true;
    record.stopped = { mode, reason };
    if (mode === StopMode.ABANDON) record.abandon.abort(cancelledFailure("the episode was stopped"));
    else record.finish.abort();
    return false;
  }

  /** The caller has stored the outcome: events and trajectory may go, the name stays (EPI-ACK-001). */
  ack(id: EpisodeId | undefined): boolean {
    const record = this.known(id);
    if (record.operation?.outcome === undefined) {
      throw new Refusal("SESSION_BUSY", "the episode still runs; acknowledge it when its outcome has come");
    }
    const before = record.acked;
    record.acked = true;
    record.events.shrink();
    record.trajectory.release();
    return before;
  }

  /** Ends all episodes, as drain does. */
  async drain(): Promise<void> {
    const ended = [...this.#records.values()].map(async ({ abandon, operation }) => {
      abandon.abort(cancelledFailure("the episode server is shutting down"));
      await operation?.settled().catch(() => undefined);
    });
    await Promise.all(ended);
  }

  #newRecord(key: string, request: RunRequest): EpisodeRecord {
    return {
      key,
      request,
      events: new EventLog<EpisodeEvent>((event) => toBinary(EpisodeEventSchema, event).length),
      trajectory: new Trajectory(),
      abandon: new AbortController(),
      finish: new AbortController(),
      orphanGraceMs: request.orphanGrace === undefined ? defaultOrphanGraceMs : toMs(request.orphanGrace),
      operation: undefined,
      orphan: undefined,
      stopped: undefined,
      acked: false,
    };
  }

  async #describeAll(people: Cast): Promise<CastDescribed | unknown> {
    const options = {};
    try {
      const [environment, ...agents] = await Promise.all([
        people.environment.describe(options),
        ...[...people.agents].map(async ([agentId, { agent, model }]) => {
          const [says, modelSays] = await Promise.all([agent.describe(options), model?.describe(options)]);
          return [agentId, { agent: says, model: modelSays }] as const;
        }),
      ]);
      return { environment, agents: new Map(agents) } satisfies CastDescribed;
    } catch (error) {
      // A peer that cannot be asked is no bad pair: the episode begins and fails with what was seen (EPI-E6-001).
      return error;
    }
  }

  async #execute(
    record: EpisodeRecord,
    operation: Operation<EpisodeOutcome>,
    asked: Admitted,
  ): Promise<Outcome<EpisodeOutcome>> {
    const { runtime } = this.options;
    const { request, events } = record;
    const timeouts = timeoutsOf(request.timeouts, this.options.timeouts);
    events.append(
      create(EpisodeEventSchema, {
        event: { case: "accepted", value: { timeout: fromMs(timeouts.episodeMs) } },
      }),
    );
    let run: EpisodeRun | undefined;
    const cleanUps: CleanUp[] = await closeUnreleased(request.unreleased, {
      peers: this.options.pool.peers,
      clock: runtime.clock,
      timeoutMs: timeouts.cleanUpMs,
    });
    let score: Parameters<typeof outcomeOf>[1]["score"];
    try {
      if (!isDescribed(asked.described)) throw asked.described;
      run = new EpisodeRun({
        request,
        episodeId: request.context?.episodeId as EpisodeId,
        cast: asked.cast,
        described: asked.described,
        timeouts,
        clock: runtime.clock,
        events,
        trajectory: record.trajectory,
        abandon: record.abandon.signal,
        finish: record.finish.signal,
      });
      run.timings.check = asked.checkMs;
      score = { verdict: await run.run() };
    } catch (error) {
      const told = failureOf(error, { boundary: Boundary.EPISODE, lost: FailureKind.UNAVAILABLE });
      if (told === error && !(error instanceof Error && error.name === "OperationFailure")) {
        runtime.log.error({ episode: record.key, err: error }, "unexpected error");
      }
      score = { failure: toFailure(told, { stage: run === undefined ? Stage.CHECK : Stage.UNSPECIFIED }) };
    }
    // E2: whatever came of it, everything is released; no signal of the episode reaches in here.
    if (run !== undefined) {
      const began = runtime.clock.now();
      cleanUps.push(...(await run.stack.releaseAll()));
      run.renewals.stopAll();
      run.timings.cleanUp = runtime.clock.now() - began;
    }
    record.orphan?.cancel();
    const outcome = outcomeOf(request, {
      answerId: operation.answerId,
      run,
      score,
      cleanUps,
      queueMs: asked.waitedMs,
      stopReason: record.stopped?.reason ?? "",
    });
    events.end(create(EpisodeEventSchema, { event: { case: "outcome", value: outcome } }));
    return { ok: true, answer: outcome };
  }

  /** Outcomes are kept as long as the retention says; then even the name goes (R14). */
  #forgetLater(record: EpisodeRecord, name: string): void {
    const { runtime } = this.options;
    runtime.clock.setTimer(runtime.limits.retentionMs, () => {
      this.#records.delete(record.key);
      runtime.ledger.forget(scope, name);
    });
  }
}

function isDescribed(described: CastDescribed | unknown): described is CastDescribed {
  return (
    typeof described === "object" && described !== null && "environment" in described && "agents" in described
  );
}
