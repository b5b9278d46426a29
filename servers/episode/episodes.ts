import { create } from "@bufbuild/protobuf";
import {
  type EpisodeId,
  type EpisodeOutcome,
  EpisodeOutcomeSchema,
  type RunRequest,
  RunRequestSchema,
  Stage,
} from "../../gen/index.js";
import type { Admission } from "../runtime/admission.js";
import { cancelledFailure, toFailure } from "../runtime/failure.js";
import { fingerprint } from "../runtime/fingerprint.js";
import { episodeKey } from "../runtime/identity.js";
import type { Delivered } from "../runtime/ledger.js";
import { logError } from "../runtime/log.js";
import type { Operation, Outcome } from "../runtime/operation.js";
import { invalidField, Refusal } from "../runtime/refusal.js";
import type { Runtime } from "../runtime/runtime.js";
import { type Admitted, admitEpisode, castEpisode } from "./admit-episode.js";
import type { CastingPool } from "./cast.js";
import { noJournal } from "./episode-journal.js";
import { EpisodeRecord } from "./episode-record.js";
import type { EpisodeStore, StoredContent } from "./episode-store.js";
import { type BegunEpisode, type EpisodeWatch, unwatched } from "./episode-watch.js";
import { executeEpisode } from "./execute-episode.js";
import { recoverEpisode } from "./recover-episode.js";
import { type PhaseTimeouts, timeoutsOf } from "./timeouts.js";

/** What the episodes of a server share. */
export interface EpisodesOptions {
  readonly runtime: Runtime;
  readonly pool: CastingPool;
  readonly timeouts: PhaseTimeouts;
  /** Where episodes are written down; absent: they live as long as the process. */
  readonly store?: EpisodeStore | undefined;
  /** Who watches them; absent: nobody. */
  readonly watch?: EpisodeWatch | undefined;
  /** Episodes whose outcome is gone that are still known not to be run again; the oldest are forgotten first. */
  readonly keptNames: number;
}

const scope = "episodes";

/** The episodes of a server: each is an operation named by its attempt (R2). */
export class Episodes {
  readonly #records = new Map<string, EpisodeRecord>();
  /** Records of the attempts at each rollout, by their number. */
  readonly #attempts = new Map<string, Map<number, EpisodeRecord>>();
  /** Episodes whose outcome is gone, oldest first. */
  readonly #expired = new Set<string>();
  readonly #admission: Admission;

  constructor(private readonly options: EpisodesOptions) {
    const { runtime, timeouts, store } = options;
    this.#admission = runtime.admission({
      clock: runtime.clock,
      max: runtime.limits.maxSessions,
      queueTimeoutMs: timeouts.queueMs,
    });
    store?.whenFaulty((error) =>
      runtime.log.error({ what: "records", err: error }, "episodes go on that cannot be written down"),
    );
    for (const { key, content } of store?.episodes() ?? []) {
      if (content === undefined) this.#restoreName(key);
      else this.#restore(key, content);
    }
  }

  /** Episodes that have not ended. */
  get live(): number {
    let count = 0;
    for (const { ended } of this.#records.values()) if (!ended) count += 1;
    return count;
  }

  /** The episode of an attempt. Throws SESSION_UNKNOWN, ANSWER_EXPIRED. */
  known(id: EpisodeId | undefined): EpisodeRecord {
    const { runtime } = this.options;
    const key = id === undefined ? "" : episodeKey(id);
    const record = this.#records.get(key);
    if (record !== undefined) return record;
    if (runtime.ledger.find(scope, nameOf(key))?.state === "expired") {
      throw new Refusal("ANSWER_EXPIRED", "the episode was run, and its outcome is no longer kept");
    }
    throw new Refusal("SESSION_UNKNOWN", "no episode of this id is known here", {
      metadata: { instance_id: runtime.instanceId },
    });
  }

  /** Runs an episode, or finds the operation that did. `header` reads a header of the call. */
  run(
    request: RunRequest,
    header: BegunEpisode["header"],
  ): Delivered<EpisodeOutcome> & { readonly record: EpisodeRecord } {
    const { runtime, pool, store, watch } = this.options;
    const episodeId = request.context?.episodeId;
    if (episodeId === undefined) throw invalidField("context.episode_id", "is required");
    const key = episodeKey(episodeId);
    const record = this.#records.get(key) ?? new EpisodeRecord(key, request, { runtime });
    const timeouts = this.#timeouts(request);
    let admitted: Admitted | undefined;
    const delivered = runtime.ledger.perform<EpisodeOutcome>({
      scope,
      name: nameOf(key),
      fingerprint: fingerprint(RunRequestSchema, request),
      events: () => record.events,
      admit: async (operation, begin) => {
        const people = castEpisode({ runtime, pool }, request);
        record.operation = operation;
        record.watched = watch?.begin({ episodeId, request, header }) ?? unwatched;
        this.#keep(record, episodeId);
        try {
          admitted = await admitEpisode(
            people,
            { request, episodeId, record },
            {
              runtime,
              pool,
              admission: this.#admission,
              queueMs: timeouts.queueMs,
              withdrawn: () => operation.withdrawn,
            },
          );
        } catch (refusal) {
          this.#drop(record, episodeId);
          record.watched.refused(refusal);
          throw refusal;
        }
        begin();
      },
      execute: async ({ answerId }) => {
        if (admitted === undefined) throw new Error("an episode began without its admission");
        const { slot } = admitted;
        const parts = { runtime, pool, timeouts, request, episodeId, record, admitted, answerId };
        try {
          return await this.#ended({ record, request, answerId }, async () => {
            record.journal = store?.begin(key, request) ?? noJournal;
            return await executeEpisode({ ...parts, earlier: this.#earlier(episodeId) });
          });
        } finally {
          slot?.release();
          this.#expireLater(record, episodeId);
        }
      },
    });
    return { ...delivered, record };
  }

  /** Ends all episodes, as drain does. */
  async drain(): Promise<void> {
    const ended = [...this.#records.values()].map(async (record) => {
      record.abandon(cancelledFailure("the episode server is shutting down"));
      await record.operation?.settled().catch(() => undefined);
    });
    await Promise.all(ended);
  }

  /** The outcome of an episode, told; whatever breaks, nobody waits for ever. */
  async #ended(
    { record, request, answerId }: { record: EpisodeRecord; request: RunRequest; answerId: string },
    work: () => Promise<EpisodeOutcome>,
  ): Promise<Outcome<EpisodeOutcome>> {
    const answer = await work().catch((error: unknown) => {
      logError(this.options.runtime.log, { episode: record.key }, error);
      return brokenOutcome(request, answerId, error);
    });
    record.end(answer);
    return { ok: true, answer };
  }

  /** Takes an episode in that was written down: its outcome replays; one that had none is ended. */
  #restore(key: string, content: StoredContent): void {
    const { runtime, store, pool, watch } = this.options;
    const { request, endedAt, events } = content;
    const episodeId = request.context?.episodeId;
    if (store === undefined || episodeId === undefined) return;
    const record = new EpisodeRecord(key, request, { runtime, stored: content });
    record.journal = store.journal(key);
    const last = events.at(-1)?.event;
    const kept = last?.case === "outcome" ? last.value : undefined;
    const recover = async (answerId: string): Promise<Outcome<EpisodeOutcome>> => {
      record.watched = watch?.begin({ episodeId, request, header: () => undefined }) ?? unwatched;
      const timeouts = this.#timeouts(request);
      const parts = { runtime, peers: pool.peers, timeouts, record, content, answerId };
      try {
        return await this.#ended({ record, request, answerId }, () => recoverEpisode(parts));
      } finally {
        this.#expireLater(record, episodeId);
      }
    };
    this.#keep(record, episodeId);
    record.operation = this.#taken(key, request, {
      events: record.events,
      execute: async (operation) =>
        kept === undefined ? await recover(operation.answerId) : { ok: true, answer: kept },
    });
    if (kept !== undefined && endedAt !== undefined) {
      this.#expireLater(record, episodeId, runtime.clock.date().getTime() - endedAt);
    }
  }

  /** The bounds of an episode's phases. Throws INVALID_FIELD. */
  #timeouts({ timeouts }: RunRequest): PhaseTimeouts {
    const { runtime, timeouts: own } = this.options;
    return timeoutsOf(timeouts, { own, longestMs: runtime.limits.timeout.maximumMs });
  }

  /** Takes the name of an episode whose outcome is gone. */
  #restoreName(key: string): void {
    this.#taken(key, create(RunRequestSchema), { events: undefined, execute: () => new Promise(() => {}) });
    this.#expire(key);
  }

  /** The operation under the name of an episode that was begun before this process. */
  #taken(
    key: string,
    request: RunRequest,
    {
      events,
      execute,
    }: {
      readonly events: EpisodeRecord["events"] | undefined;
      readonly execute: (operation: Operation<EpisodeOutcome>) => Promise<Outcome<EpisodeOutcome>>;
    },
  ): Operation<EpisodeOutcome> {
    const { operation } = this.options.runtime.ledger.perform<EpisodeOutcome>({
      scope,
      name: nameOf(key),
      fingerprint: fingerprint(RunRequestSchema, request),
      ...(events === undefined ? {} : { events: () => events }),
      admit: (_operation, begin) => begin(),
      execute,
    });
    return operation;
  }

  #keep(record: EpisodeRecord, { rolloutId, attempt }: EpisodeId): void {
    this.#records.set(record.key, record);
    const attempts = this.#attempts.get(rolloutId) ?? new Map<number, EpisodeRecord>();
    this.#attempts.set(rolloutId, attempts.set(attempt, record));
  }

  #drop({ key }: EpisodeRecord, { rolloutId, attempt }: EpisodeId): void {
    this.#records.delete(key);
    const attempts = this.#attempts.get(rolloutId);
    attempts?.delete(attempt);
    if (attempts?.size === 0) this.#attempts.delete(rolloutId);
  }

  /** Earlier attempts at the same rollout. */
  #earlier({ rolloutId, attempt }: EpisodeId): EpisodeRecord[] {
    const attempts = this.#attempts.get(rolloutId) ?? new Map<number, EpisodeRecord>();
    return [...attempts].flatMap(([number, record]) => (number < attempt ? [record] : []));
  }

  /** Outcomes are kept as long as the retention says; then only the name is (R14). */
  #expireLater(record: EpisodeRecord, episodeId: EpisodeId, agoMs = 0): void {
    const { runtime } = this.options;
    runtime.clock.setTimer(runtime.limits.retentionMs - agoMs, () => {
      this.#drop(record, episodeId);
      this.#expire(record.key);
      this.options.store?.expire(record.key);
    });
  }

  /** Lets an outcome go; the oldest names go where there are too many. */
  #expire(key: string): void {
    const { runtime, store, keptNames } = this.options;
    runtime.ledger.expire(scope, nameOf(key));
    this.#expired.add(key);
    for (const oldest of this.#expired) {
      if (this.#expired.size <= keptNames) return;
      this.#expired.delete(oldest);
      runtime.ledger.forget(scope, nameOf(oldest));
      store?.forget(oldest);
    }
  }
}

/** The outcome of an episode whose server itself broke: nobody waits for ever. */
function brokenOutcome({ context }: RunRequest, answerId: string, error: unknown): EpisodeOutcome {
  return create(EpisodeOutcomeSchema, {
    answerId,
    ...(context === undefined ? {} : { context }),
    outcome: { case: "failure", value: toFailure(error, { stage: Stage.CLEAN_UP }) },
    training: { usable: false, reasons: ["the episode server broke"] },
  });
}

function nameOf(key: string): string {
  return `run:${key}`;
}
