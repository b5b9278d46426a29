import { ClosedBy, type CloseReceipt, type EpisodeId, type Lease, Retry, Stage } from "../../gen/index.js";
import type { Admission } from "./admission.js";
import { clamp } from "./duration.js";
import { Execution } from "./execution.js";
import { sameEpisode } from "./identity.js";
import type { Delivered } from "./ledger.js";
import { logError } from "./log.js";
import type { Operation, Outcome } from "./operation.js";
import { Refusal } from "./refusal.js";
import { describeLease, Session } from "./session.js";
import { type SessionEndOptions, SessionEnds } from "./session-end.js";
import { watchLease } from "./session-lease.js";
import type { Opening, SessionWork } from "./session-work.js";

/** What a table of sessions is for. */
export interface SessionsOptions<S> extends SessionEndOptions<S> {
  /** The stage of an episode that opens one, for failures. */
  readonly stage: Stage;
}

/**
 * The sessions of one service: opened under their callers' ids, worked with one operation at a time, ended by Close,
 * silence, age or drain (R5, R6), and remembered as long as the retention says (R14).
 */
export class Sessions<S> {
  readonly #sessions = new Map<string, Session<S>>();
  readonly #scope: string;
  readonly #admission: Admission;
  readonly #ends: SessionEnds<S>;

  constructor(private readonly options: SessionsOptions<S>) {
    const { runtime } = options;
    // Two services of one runtime never share a name.
    this.#scope = Stage[options.stage];
    this.#ends = new SessionEnds(options, (session) => this.#forgetLater(session));
    this.#admission = runtime.admission({
      clock: runtime.clock,
      max: runtime.limits.maxSessions,
      queueTimeoutMs: runtime.limits.queueTimeoutMs,
    });
  }

  /** Sessions that are open. */
  get live(): number {
    let count = 0;
    for (const { phase, failed, state } of this.#sessions.values()) {
      // A session that could not be opened holds nothing.
      if (phase !== "ended" && !(failed && state === undefined)) count += 1;
    }
    return count;
  }

  /** The session of a new call. Throws SESSION_UNKNOWN, SESSION_CLOSED, SESSION_EXPIRED. */
  open(id: string): Session<S> & { state: S } {
    const session = this.known(id);
    if (session.end !== undefined) throw this.#ends.refusal(session);
    if (session.state === undefined) throw this.#failed();
    this.touch(session);
    return session as Session<S> & { state: S };
  }

  /** The session under an id, ended or not. Throws SESSION_UNKNOWN (ALL-LEASE-014). */
  known(id: string): Session<S> {
    const session = this.#sessions.get(id);
    if (session === undefined || session.phase === "waiting") {
      throw new Refusal("SESSION_UNKNOWN", `no ${this.options.what} of this id is known here`, {
        metadata: { instance_id: this.options.runtime.instanceId },
      });
    }
    return session;
  }

  /** Moves the end by silence: a request was served (ALL-LEASE-006). */
  touch(session: Session<S>): void {
    session.deadline = this.options.runtime.clock.now() + session.leaseMs;
  }

  /** Keeps the lease still while a call runs that is no operation; call what it answers when the call has ended. */
  hold(session: Session<S>): () => void {
    session.holds += 1;
    return () => {
      session.holds -= 1;
      if (session.end === undefined) this.touch(session);
    };
  }

  /** Renews a lease. */
  keepAlive(id: string): Lease {
    const session = this.known(id);
    if (session.end !== undefined) throw this.#ends.refusal(session);
    this.touch(session);
    return describeLease(session.leaseMs, this.options.runtime.limits.maxLifetimeMs);
  }

  /** Opens a session, or finds the operation that did. */
  create<A>(opening: Opening<S, A>): Delivered<A> {
    const { runtime } = this.options;
    const known = this.#sessions.get(opening.id);
    if (known?.end !== undefined) throw this.#ends.refusal(known);
    let session: Session<S> | undefined;
    const timeoutMs = clamp(opening.timeout, runtime.limits.timeout);
    const delivered = runtime.ledger.perform<A>({
      scope: this.#scope,
      name: `open:${opening.id}`,
      fingerprint: Buffer.concat([Buffer.from(`${opening.kind}:`), opening.fingerprint]),
      admit: (operation) => {
        if (runtime.draining)
          throw new Refusal("DRAINING", "this server takes nothing new; another replica may");
        const fresh = new Session<S>(opening.id, opening.context);
        opening.check?.();
        session = fresh;
        session.opening = operation as Operation<unknown>;
        this.#sessions.set(opening.id, fresh);
        return this.#admit(fresh, operation, clamp(opening.lease, runtime.limits.lease));
      },
      execute: (operation) => {
        if (session === undefined) throw new Error("an opening began without its session");
        return this.#make(session, operation, { opening, timeoutMs });
      },
    });
    if (known !== undefined && known.phase === "live") this.touch(known);
    return delivered;
  }

  /** Performs an operation of a session, or finds it under its name. */
  operate<A>(id: string, work: SessionWork<S, A>): Delivered<A> {
    const { runtime } = this.options;
    const session = this.known(id);
    const scope = this.#scopeOf(id);
    const holder: { index: number } = { index: work.index ?? -1 };
    const delivered = runtime.ledger.perform<A>({
      scope,
      name: work.name,
      fingerprint: work.fingerprint,
      ...(work.events === undefined ? {} : { events: work.events }),
      admit: (operation) => {
        this.#mayBegin(session, work, operation);
        const turn = session.turn.take();
        const begin = (): void => {
          try {
            this.#mayBegin(session, work, operation);
            work.check?.(session);
            holder.index = this.#takeIndex(session, work);
          } catch (refusal) {
            session.turn.give();
            throw refusal;
          }
        };
        return turn === undefined ? begin() : turn.then(begin);
      },
      execute: (operation) => this.#run(session, operation, { work, index: holder.index }),
    });
    if (delivered.delivery !== "started" && session.end === undefined) this.touch(session);
    return delivered;
  }

  /** The recorded operation of a session under a name, if there is one. */
  recorded(id: string, name: string): Operation<unknown> | undefined {
    return this.options.runtime.ledger.find(this.#scopeOf(id), name);
  }

  /** Takes a further name for an operation of a session, so that asking for it by that name is a conflict. */
  alias(id: string, name: string, operation: Operation<unknown>): void {
    this.options.runtime.ledger.alias(this.#scopeOf(id), name, operation);
  }

  /** Lets the answer under a name that its caller chose go; the name stays taken (R14). */
  expireAnswer(id: string, name: string): void {
    this.options.runtime.ledger.expire(this.#scopeOf(id), name);
  }

  /** Forgets an operation whose index tells that it was done (R14). */
  forgetAnswer(id: string, name: string): void {
    this.options.runtime.ledger.forget(this.#scopeOf(id), name);
  }

  /**
   * Ends a session on its owner's behalf and tells how it ended (R5). Throws EPISODE_MISMATCH, which changes nothing
   * (ALL-CLOSE-019).
   */
  async close(
    id: string,
    episodeId: EpisodeId | undefined,
  ): Promise<{ session: Session<S>; receipt: CloseReceipt }> {
    let session = this.#sessions.get(id);
    if (session === undefined) {
      session = this.#tombstone(id);
      return { session, receipt: this.#ends.receipt(session, false) };
    }
    if (session.context !== undefined && !sameEpisode(session.context.episodeId, episodeId)) {
      throw new Refusal(
        "EPISODE_MISMATCH",
        `this ${this.options.what} belongs to another episode; nothing was changed`,
      );
    }
    const already = session.end !== undefined;
    await this.#end(session, ClosedBy.CALLER);
    return { session, receipt: this.#ends.receipt(session, already) };
  }

  /** Ends all sessions, as drain does at its timeout (ALL-DRAIN-005). */
  async drain(): Promise<void> {
    await Promise.all([...this.#sessions.values()].map((session) => this.#end(session, ClosedBy.DRAIN)));
  }

  #scopeOf(id: string): string {
    return `${this.#scope}/${id}`;
  }

  #failed(): Refusal {
    return new Refusal(
      "SESSION_FAILED",
      `an earlier operation of this ${this.options.what} failed; only replays, KeepAlive and Close are accepted`,
    );
  }

  /** Waits for a place, then lets the session live. */
  #admit(session: Session<S>, operation: Operation<unknown>, leaseMs: number): void | Promise<void> {
    const live = (): void => {
      const { clock } = this.options.runtime;
      session.phase = "live";
      session.opening = undefined;
      session.leaseMs = leaseMs;
      session.bornAt = clock.now();
      this.touch(session);
      watchLease(session, this.options.runtime, (by) => void this.#end(session, by));
    };
    try {
      const slot = this.#admission.enter(() => operation.withdrawn);
      if (!(slot instanceof Promise)) {
        session.slot = slot;
        return live();
      }
      return slot.then(
        (given) => {
          if (session.end !== undefined) {
            given.release();
            throw this.#ends.refusal(session);
          }
          session.slot = given;
          live();
        },
        (refusal: unknown) => {
          if (session.end === undefined) this.#sessions.delete(session.id);
          throw session.end === undefined ? refusal : this.#ends.refusal(session);
        },
      );
    } catch (refusal) {
      this.#sessions.delete(session.id);
      throw refusal;
    }
  }

  async #make<A>(
    session: Session<S>,
    operation: Operation<A>,
    { opening, timeoutMs }: { opening: Opening<S, A>; timeoutMs: number },
  ): Promise<Outcome<A>> {
    const { runtime } = this.options;
    const lease = describeLease(session.leaseMs, runtime.limits.maxLifetimeMs);
    // The turn is taken from the start, so that what comes while the session is made waits for it.
    void session.turn.take();
    const execution = new Execution<A>({
      clock: runtime.clock,
      answerId: operation.answerId,
      what: opening.kind,
      timeoutMs,
      context: { stage: this.options.stage },
      onError: (error) => this.#logError(opening.kind, session, error),
      run: async (running) => {
        const made = await opening.make(running, { answerId: operation.answerId, lease, timeoutMs });
        session.state = made.state;
        return made.answer;
      },
    });
    const outcome = await this.#track(session, execution);
    // ENV-SEED-010: a session that was never made holds no capacity.
    if (!outcome.ok) {
      session.failed = true;
      session.slot?.release();
    }
    session.turn.give();
    return outcome;
  }

  /** Throws the refusal of work that may not begin now. */
  #mayBegin<A>(session: Session<S>, work: SessionWork<S, A>, operation: Operation<A>): void {
    if (session.end !== undefined) throw this.#ends.refusal(session);
    if (session.failed) throw this.#failed();
    if (work.index !== undefined && work.index < session.begun(work.kind)) {
      // An operation of another name took the number while this one waited for its turn.
      const holder = this.recorded(session.id, work.name);
      if (holder !== undefined && holder !== (operation as Operation<unknown>)) {
        throw new Refusal(
          "OPERATION_CONFLICT",
          `${work.kind} ${work.index} was asked for under another name`,
        );
      }
      // ALL-REPEAT-010: an index that was used and is no longer recorded was answered long ago.
      throw new Refusal(
        "ANSWER_EXPIRED",
        `${work.kind} ${work.index} was done and its answer is no longer kept`,
      );
    }
  }

  /** Uses up the next index; refuses a gap (ALL-ORDER-002, ALL-ORDER-007). */
  #takeIndex<A>(session: Session<S>, work: SessionWork<S, A>): number {
    const expected = session.begun(work.kind);
    if (work.index !== undefined && work.index !== expected) {
      throw new Refusal(
        "OUT_OF_ORDER",
        `the next ${work.kind} of this ${this.options.what} is ${expected}, not ${work.index}`,
        { metadata: { expected_index: String(expected) } },
      );
    }
    session.next.set(work.kind, expected + 1);
    return expected;
  }

  async #run<A>(
    session: Session<S>,
    operation: Operation<A>,
    { work, index }: { work: SessionWork<S, A>; index: number },
  ): Promise<Outcome<A>> {
    const { runtime } = this.options;
    const state = session.state;
    if (state === undefined) throw new Error("an operation began in a session without state");
    const facts = { session, state, index, answerId: operation.answerId, operation };
    const execution = new Execution<A>({
      clock: runtime.clock,
      answerId: operation.answerId,
      what: work.kind,
      timeoutMs: typeof work.timeoutMs === "function" ? work.timeoutMs(state) : work.timeoutMs,
      context: typeof work.context === "function" ? work.context(state) : work.context,
      onError: (error) => this.#logError(work.kind, session, error),
      run: (running) => work.run({ ...facts, execution: running }),
    });
    const outcome = await this.#track(session, execution);
    if (!outcome.ok && work.harmless !== true && outcome.error.failure.retry !== Retry.NEXT_INDEX)
      session.failed = true;
    try {
      work.onEnd?.(outcome, { ...facts, execution });
    } finally {
      session.turn.give();
    }
    return outcome;
  }

  /** Waits for an execution's outcome while the session knows of it; the lease stands still (ALL-LEASE-007). */
  async #track<A>(session: Session<S>, execution: Execution<A>): Promise<Outcome<A>> {
    const known = execution as Execution<unknown>;
    session.executions.add(known);
    let quiet = false;
    const loose = execution.quiet.then(() => {
      quiet = true;
      // What an ended session was still waiting for may be released now.
      if (session.loose.delete(loose) && session.end?.confirmed === false)
        void this.#end(session, session.end.by);
    });
    const outcome = await execution.outcome;
    session.executions.delete(known);
    if (!quiet) session.loose.add(loose);
    if (session.end === undefined) this.touch(session);
    return outcome;
  }

  /** Ends a session; what is known of it goes when the retention is over. */
  async #end(session: Session<S>, by: ClosedBy): Promise<void> {
    await this.#ends.end(session, by);
    // ALL-CLOSE-005: what opened it is never replayed any more, so its answer need not be kept.
    this.options.runtime.ledger.forget(this.#scope, `open:${session.id}`);
  }

  #tombstone(id: string): Session<S> {
    const session = new Session<S>(id, undefined);
    session.phase = "ended";
    session.end = { by: ClosedBy.CALLER, confirmed: true, left: [], releasing: undefined };
    this.#sessions.set(id, session);
    this.#forgetLater(session);
    return session;
  }

  /** Receipts, tombstones and answers go when the retention is over (ALL-KEEP-002); what still leaks is not forgotten. */
  #forgetLater(session: Session<S>): void {
    const { runtime } = this.options;
    runtime.clock.setTimer(runtime.limits.retentionMs, () => {
      this.#sessions.delete(session.id);
      runtime.ledger.forget(this.#scope, `open:${session.id}`);
      runtime.ledger.drop(this.#scopeOf(session.id));
    });
  }

  #logError(what: string, session: Session<S>, error: unknown): void {
    logError(this.options.runtime.log, { what, [this.options.what]: session.id }, error);
  }
}
