import { create } from "@bufbuild/protobuf";
import type { Duration } from "@bufbuild/protobuf/wkt";
import {
  ClosedBy,
  type CloseReceipt,
  CloseReceiptSchema,
  type EpisodeContext,
  type EpisodeId,
  type Lease,
  type LeftResource,
  LeftResourceSchema,
  Retry,
  Stage,
} from "../../gen/index.js";
import type { Admission } from "./admission.js";
import { clamp } from "./duration.js";
import { Execution } from "./execution.js";
import { cancelledFailure, type FailureContext, toFailure } from "./failure.js";
import type { Fingerprint } from "./fingerprint.js";
import { sameEpisode } from "./identity.js";
import type { Delivered } from "./ledger.js";
import type { Operation, OperationEvents, Outcome } from "./operation.js";
import { Refusal } from "./refusal.js";
import type { Runtime } from "./runtime.js";
import { describeLease, Session } from "./session.js";

/** What a table of sessions is for. */
export interface SessionsOptions<S> {
  readonly runtime: Runtime;
  /** What one is called in texts: `session`, `gateway`. */
  readonly what: string;
  readonly stage: Stage;
  /**
   * Releases what a session holds; called once its work has stopped or the grace has passed, and again by a further
   * Close while something is left. Answers what is left; what it throws is left as well. The state itself is kept as
   * long as answers are: what it holds beyond that is let go here.
   */
  release(session: Session<S>, state: S): Promise<readonly LeftResource[]>;
}

/** What an opening operation makes. */
export interface Opened<S, A> {
  readonly state: S;
  readonly answer: A;
}

/** The opening of a session: Seed, Open, OpenGateway. */
export interface Opening<S, A> {
  readonly id: string;
  readonly context: EpisodeContext;
  /** Kind of the rpc, so that an id opened by one cannot be opened by another (ALL-REPEAT-009). */
  readonly kind: string;
  readonly fingerprint: Fingerprint;
  readonly lease: Duration | undefined;
  readonly timeout: Duration | undefined;
  /** Checks what only a new opening needs, before a place is asked for; throws refusals. */
  readonly check?: () => void;
  make(execution: Execution<A>, opening: OpeningFacts): Promise<Opened<S, A>>;
}

/** What an opening operation tells its caller. */
export interface OpeningFacts {
  readonly answerId: string;
  readonly lease: Lease;
  readonly timeoutMs: number;
}

/** An operation of a session that is open. */
export interface SessionWork<S, A> {
  /** The kind, by which operations are numbered: `step`, `verification`. */
  readonly kind: string;
  /** The name in the session, kind first: `step:3`, `action:x`. */
  readonly name: string;
  readonly fingerprint: Fingerprint;
  /** Its index where the caller numbers it; absent where the server does, or nobody. */
  readonly index?: number | undefined;
  readonly timeoutMs: number;
  readonly context: FailureContext;
  /** Checks at the session's turn, before anything is recorded; throws refusals. */
  readonly check?: (session: Session<S>) => void;
  readonly run: (run: SessionRun<S, A>) => Promise<A>;
  /** A failure of this kind of operation leaves the session as it was (Verify). */
  readonly harmless?: boolean;
  /** Told of the operation's outcome before its callers are. */
  readonly onEnd?: (outcome: Outcome<A>, run: SessionRun<S, A>) => void;
  /** The events of a streamed operation, made when it starts. */
  readonly events?: () => OperationEvents;
}

/** A running operation of a session. */
export interface SessionRun<S, A> {
  readonly session: Session<S>;
  readonly state: S;
  /** The number that the operation has, given by its caller or here. */
  readonly index: number;
  readonly answerId: string;
  readonly execution: Execution<A>;
  /** The operation itself, for its events and further names. */
  readonly operation: Operation<A>;
}

/** Milliseconds between tries to release what a Close could not. */
const releaseRetryMs = 30_000;

/**
 * The sessions of one service: opened under their callers' ids, worked with one operation at a time, ended by Close,
 * silence, age or drain (R5, R6), and remembered as long as the retention says (R14).
 */
export class Sessions<S> {
  readonly #sessions = new Map<string, Session<S>>();
  readonly #scope: string;
  readonly #admission: Admission;

  constructor(private readonly options: SessionsOptions<S>) {
    const { runtime } = options;
    this.#scope = options.what;
    this.#admission = runtime.admission({
      clock: runtime.clock,
      max: runtime.limits.maxSessions,
      queueTimeoutMs: runtime.limits.queueTimeoutMs,
    });
  }

  /** Sessions that are open. */
  get live(): number {
    let count = 0;
    for (const session of this.#sessions.values()) if (session.phase !== "ended") count += 1;
    return count;
  }

  /** The session of a new call. Throws SESSION_UNKNOWN, SESSION_CLOSED, SESSION_EXPIRED. */
  open(id: string): Session<S> & { state: S } {
    const session = this.known(id);
    if (session.end !== undefined) throw this.#ended(session);
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
    if (session.end !== undefined) throw this.#ended(session);
    this.touch(session);
    return describeLease(session.leaseMs, this.options.runtime.limits.maxLifetimeMs);
  }

  /** Opens a session, or finds the operation that did. */
  create<A>(opening: Opening<S, A>): Delivered<A> {
    const { runtime } = this.options;
    const known = this.#sessions.get(opening.id);
    if (known?.end !== undefined) throw this.#ended(known);
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
      admit: () => {
        this.#mayBegin(session, work);
        const turn = session.turn.take();
        const begin = (): void => {
          try {
            this.#mayBegin(session, work);
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
      return { session, receipt: this.#receipt(session, false) };
    }
    if (session.context !== undefined && !sameEpisode(session.context.episodeId, episodeId)) {
      throw new Refusal(
        "EPISODE_MISMATCH",
        `this ${this.options.what} belongs to another episode; nothing was changed`,
      );
    }
    const already = session.end !== undefined;
    await this.#end(session, ClosedBy.CALLER);
    return { session, receipt: this.#receipt(session, already) };
  }

  /** Ends all sessions, as drain does at its timeout (ALL-DRAIN-005). */
  async drain(): Promise<void> {
    await Promise.all([...this.#sessions.values()].map((session) => this.#end(session, ClosedBy.DRAIN)));
  }

  #scopeOf(id: string): string {
    return `${this.#scope}/${id}`;
  }

  #ended(session: Session<S>): Refusal {
    const by = session.end?.by;
    if (by === ClosedBy.LEASE || by === ClosedBy.LIFETIME || by === ClosedBy.DRAIN) {
      return new Refusal(
        "SESSION_EXPIRED",
        `this ${this.options.what} ended by its ${by === ClosedBy.LEASE ? "lease" : by === ClosedBy.LIFETIME ? "max_lifetime" : "server's drain"}`,
      );
    }
    return new Refusal("SESSION_CLOSED", `this ${this.options.what} was closed`);
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
      const { clock, limits } = this.options.runtime;
      session.phase = "live";
      session.opening = undefined;
      session.leaseMs = leaseMs;
      session.bornAt = clock.now();
      this.touch(session);
      this.#watchLease(session, limits.maxLifetimeMs);
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
            throw this.#ended(session);
          }
          session.slot = given;
          live();
        },
        (refusal: unknown) => {
          if (session.end === undefined) this.#sessions.delete(session.id);
          throw session.end === undefined ? refusal : this.#ended(session);
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
  #mayBegin<A>(session: Session<S>, work: SessionWork<S, A>): void {
    if (session.end !== undefined) throw this.#ended(session);
    if (session.failed) throw this.#failed();
    // ALL-REPEAT-010: an index that was used and is no longer recorded was answered long ago.
    if (work.index !== undefined && work.index < session.begun(work.kind)) {
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
      timeoutMs: work.timeoutMs,
      context: work.context,
      onError: (error) => this.#logError(work.kind, session, error),
      run: (running) => work.run({ ...facts, execution: running }),
    });
    const outcome = await this.#track(session, execution);
    if (!outcome.ok && work.harmless !== true && outcome.error.failure.retry !== Retry.NEXT_INDEX)
      session.failed = true;
    work.onEnd?.(outcome, { ...facts, execution });
    session.turn.give();
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

  #watchLease(session: Session<S>, maxLifetimeMs: number | undefined): void {
    const { clock } = this.options.runtime;
    const endOfLife = maxLifetimeMs === undefined ? Number.POSITIVE_INFINITY : session.bornAt + maxLifetimeMs;
    const check = (): void => {
      const now = clock.now();
      if (session.end !== undefined) return;
      if (now >= endOfLife) return void this.#end(session, ClosedBy.LIFETIME);
      const busy = session.executions.size > 0 || session.holds > 0;
      if (!busy && now >= session.deadline) return void this.#end(session, ClosedBy.LEASE);
      const silent = busy ? now + session.leaseMs : session.deadline;
      session.timer = clock.setTimer(Math.min(silent, endOfLife) - now, check);
    };
    session.timer = clock.setTimer(Math.min(session.leaseMs, endOfLife - clock.now()), check);
  }

  /** Ends a session, or goes on ending it. Resolves when it is released or the grace has passed. */
  async #end(session: Session<S>, by: ClosedBy): Promise<void> {
    if (session.end === undefined) {
      const waited = session.phase === "waiting";
      session.phase = "ended";
      session.timer?.cancel();
      session.end = { by, confirmed: false, left: [], releasing: undefined };
      // What was never admitted holds nothing; whoever waits for it is told.
      if (waited) {
        session.end.confirmed = true;
        session.opening?.withdraw();
      }
      for (const execution of session.executions) {
        execution.cancel(
          cancelledFailure(by === ClosedBy.CALLER ? "the session was closed" : "the session ended"),
        );
      }
      this.#forgetLater(session);
    }
    if (session.end.confirmed) return;
    session.end.releasing ??= this.#release(session).finally(() => {
      if (session.end !== undefined) session.end.releasing = undefined;
    });
    await session.end.releasing;
  }

  async #release(session: Session<S>): Promise<void> {
    const stopped = await this.#quiet(session);
    const left: LeftResource[] = [];
    if (!stopped)
      left.push(this.#left("operation", session.id, new Error("its work did not stop within the grace")));
    const { state } = session;
    if (state !== undefined) {
      try {
        left.push(...(await this.#withinGrace(this.options.release(session, state), session)));
      } catch (error) {
        this.#logError("release", session, error);
        left.push(this.#left(this.options.what, session.id, error));
      }
    }
    session.slot?.release();
    if (session.end === undefined) return;
    session.end.left = left;
    session.end.confirmed = left.length === 0;
    if (!session.end.confirmed) {
      this.options.runtime.clock.setTimer(releaseRetryMs, () => void this.#end(session, ClosedBy.CALLER));
    }
  }

  /** Whether all work of a session has returned within the grace. */
  async #quiet(session: Session<S>): Promise<boolean> {
    if (session.loose.size === 0 && session.executions.size === 0) return true;
    // Executions were cancelled; one turn of the loop moves them to `loose`.
    await new Promise(setImmediate);
    try {
      await this.#withinGrace(Promise.all(session.loose), session);
      return true;
    } catch {
      return false;
    }
  }

  #withinGrace<T>(work: Promise<T>, session: Session<S>): Promise<T> {
    const { clock, limits } = this.options.runtime;
    return new Promise((resolve, reject) => {
      const timer = clock.setTimer(limits.closeGraceMs, () =>
        reject(
          new Error(`${this.options.what} ${session.id} was not released within ${limits.closeGraceMs} ms`),
        ),
      );
      work.then(resolve, reject).finally(() => timer.cancel());
    });
  }

  #left(kind: string, id: string, error: unknown): LeftResource {
    return create(LeftResourceSchema, { kind, id, failure: toFailure(error, { stage: Stage.CLEAN_UP }) });
  }

  #tombstone(id: string): Session<S> {
    const session = new Session<S>(id, undefined);
    session.phase = "ended";
    session.end = { by: ClosedBy.CALLER, confirmed: true, left: [], releasing: undefined };
    this.#sessions.set(id, session);
    this.#forgetLater(session);
    return session;
  }

  /** Receipts, tombstones and answers go when the retention is over (ALL-KEEP-002). */
  #forgetLater(session: Session<S>): void {
    const { runtime } = this.options;
    runtime.clock.setTimer(runtime.limits.retentionMs, () => {
      this.#sessions.delete(session.id);
      runtime.ledger.forget(this.#scope, `open:${session.id}`);
      runtime.ledger.drop(this.#scopeOf(session.id));
    });
  }

  #receipt(session: Session<S>, already: boolean): CloseReceipt {
    const { end } = session;
    if (end === undefined) throw new Error("a receipt of a session that has not ended");
    return create(CloseReceiptSchema, {
      alreadyClosed: already,
      neverOpened: session.context === undefined,
      closedBy: end.by,
      cleanupConfirmed: end.confirmed,
      left: end.left,
      ...(session.context === undefined ? {} : { context: session.context }),
    });
  }

  #logError(what: string, session: Session<S>, error: unknown): void {
    this.options.runtime.log.error({ what, [this.options.what]: session.id, err: error }, "unexpected error");
  }
}
