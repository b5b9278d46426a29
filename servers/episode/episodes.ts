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
import { invalidField, Refusal } from "../runtime/refusal.js";
import type { Runtime } from "../runtime/runtime.js";
import { type Admitted, admitEpisode, castEpisode } from "./admit-episode.js";
import type { CastingPool } from "./cast.js";
import { EpisodeRecord } from "./episode-record.js";
import { executeEpisode } from "./execute-episode.js";
import { type PhaseTimeouts, timeoutsOf } from "./timeouts.js";

/** What the episodes of a server share. */
export interface EpisodesOptions {
  readonly runtime: Runtime;
  readonly pool: CastingPool;
  readonly timeouts: PhaseTimeouts;
}

const scope = "episodes";

/** The episodes of a server: each is an operation named by its attempt (R2). */
export class Episodes {
  readonly #records = new Map<string, EpisodeRecord>();
  /** Records of the attempts at each rollout, by their number. */
  readonly #attempts = new Map<string, Map<number, EpisodeRecord>>();
  /** Names of episodes whose outcome is no longer kept: they are never run again (EPI-ACK-001, ALL-REPEAT-010). */
  readonly #spent = new Set<string>();
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
    for (const { ended } of this.#records.values()) if (!ended) count += 1;
    return count;
  }

  /** The episode of an attempt. Throws SESSION_UNKNOWN, ANSWER_EXPIRED. */
  known(id: EpisodeId | undefined): EpisodeRecord {
    const key = id === undefined ? "" : episodeKey(id);
    this.#checkKept(key);
    const record = this.#records.get(key);
    if (record !== undefined) return record;
    throw new Refusal("SESSION_UNKNOWN", "no episode of this id is known here", {
      metadata: { instance_id: this.options.runtime.instanceId },
    });
  }

  /** Runs an episode, or finds the operation that did. */
  run(request: RunRequest): Delivered<EpisodeOutcome> & { readonly record: EpisodeRecord } {
    const { runtime, pool } = this.options;
    const episodeId = request.context?.episodeId;
    if (episodeId === undefined) throw invalidField("context.episode_id", "is required");
    const key = episodeKey(episodeId);
    this.#checkKept(key);
    const record = this.#records.get(key) ?? new EpisodeRecord(key, request, runtime);
    const timeouts = timeoutsOf(request.timeouts, this.options.timeouts);
    let admitted: Admitted | undefined;
    const delivered = runtime.ledger.perform<EpisodeOutcome>({
      scope,
      name: nameOf(key),
      fingerprint: fingerprint(RunRequestSchema, request),
      events: () => record.events,
      admit: async (operation) => {
        const people = castEpisode({ runtime, pool }, request);
        record.operation = operation;
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
          throw refusal;
        }
      },
      execute: async ({ answerId }) => {
        if (admitted === undefined) throw new Error("an episode began without its admission");
        const { slot } = admitted;
        const earlier = this.#earlier(episodeId);
        const parts = { runtime, pool, timeouts, request, episodeId, record, admitted, answerId, earlier };
        try {
          const answer = await executeEpisode(parts).catch((error: unknown) => {
            runtime.log.error({ episode: key, err: error }, "unexpected error");
            return brokenOutcome(request, answerId, error);
          });
          record.end(answer);
          return { ok: true, answer };
        } finally {
          slot?.release();
          this.#forgetLater(record, episodeId);
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

  #checkKept(key: string): void {
    if (!this.#spent.has(key)) return;
    throw new Refusal("ANSWER_EXPIRED", "the episode was run, and its outcome is no longer kept");
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
  #forgetLater(record: EpisodeRecord, episodeId: EpisodeId): void {
    const { runtime } = this.options;
    runtime.clock.setTimer(runtime.limits.retentionMs, () => {
      this.#spent.add(record.key);
      this.#drop(record, episodeId);
      runtime.ledger.forget(scope, nameOf(record.key));
    });
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
