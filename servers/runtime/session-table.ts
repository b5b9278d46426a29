import { ClosedBy, type CloseReceipt, type EpisodeId, type Lease, Stage } from "../../gen/index.js";
import type { Execution } from "./execution.js";
import { sameEpisode } from "./identity.js";
import { logError } from "./log.js";
import type { Outcome } from "./operation.js";
import { Refusal } from "./refusal.js";
import { describeLease, type OpenSession, Session } from "./session.js";
import { type SessionEndOptions, SessionEnds } from "./session-end.js";

/** What a table of sessions is for. */
export interface SessionsOptions<S> extends SessionEndOptions<S> {
  /** The stage of an episode that opens one, for failures. */
  readonly stage: Stage;
}

/** The sessions of one service by their callers' ids: who they are, whether they live, how they end (R5, R6, R14). */
export class SessionTable<S> {
  /** Where the names of openings live; two services of one runtime never share one. */
  readonly scope: string;
  readonly ends: SessionEnds<S>;
  readonly #sessions = new Map<string, Session<S>>();

  constructor(readonly options: SessionsOptions<S>) {
    this.scope = Stage[options.stage];
    this.ends = new SessionEnds(options, (session) => this.#forgetLater(session));
  }

  /** Sessions that are open. */
  get live(): number {
    let count = 0;
    for (const { phase, failed, state, slot } of this.#sessions.values()) {
      // A session that could not be opened holds nothing once its work is quiet.
      if (phase !== "ended" && !(failed && state === undefined && slot === undefined)) count += 1;
    }
    return count;
  }

  /** The session of a new call, which renews its lease. Throws SESSION_UNKNOWN, SESSION_CLOSED, SESSION_EXPIRED. */
  open(id: string): OpenSession<S> {
    const session = this.alive(id);
    this.touch(session);
    return session;
  }

  /**
   * The same of a call that may still be refused and then renews nothing (ALL-LEASE-013). A session of which a later
   * operation failed is still read (R9); one whose opening failed never was, whatever its work made too late.
   */
  alive(id: string): OpenSession<S> {
    const session = this.known(id);
    if (session.end !== undefined) throw this.ends.refusal(session);
    if (session.state !== undefined) return session as OpenSession<S>;
    if (session.failed) throw this.failedRefusal();
    throw new Refusal("SESSION_BUSY", `this ${this.options.what} is still being opened`);
  }

  /** The session under an id, whatever became of it. */
  get(id: string): Session<S> | undefined {
    return this.#sessions.get(id);
  }

  /** Takes a session in under its id. */
  add(session: Session<S>): void {
    this.#sessions.set(session.id, session);
  }

  /** Forgets a session that was never opened: its id is free. */
  remove(id: string): void {
    this.#sessions.delete(id);
  }

  /** Whether an id is known: opened, or closed. */
  has(id: string): boolean {
    const session = this.#sessions.get(id);
    return session !== undefined && session.phase !== "waiting";
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
    if (session.end !== undefined) throw this.ends.refusal(session);
    this.touch(session);
    return describeLease(session.leaseMs, this.options.runtime.limits.maxLifetimeMs);
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
      return { session, receipt: this.ends.receipt(session, false) };
    }
    if (session.context !== undefined && !sameEpisode(session.context.episodeId, episodeId)) {
      throw new Refusal(
        "EPISODE_MISMATCH",
        `this ${this.options.what} belongs to another episode; nothing was changed`,
      );
    }
    const already = session.end !== undefined;
    await this.end(session, ClosedBy.CALLER);
    return { session, receipt: this.ends.receipt(session, already) };
  }

  /** Ends all sessions, as drain does at its timeout (ALL-DRAIN-005). */
  async drain(): Promise<void> {
    await Promise.all([...this.#sessions.values()].map((session) => this.end(session, ClosedBy.DRAIN)));
  }

  /** Where the names of a session's operations live. */
  scopeOf(id: string): string {
    return `${this.scope}/${id}`;
  }

  /** The name under which the opening of an id is recorded. */
  openingOf(id: string): string {
    return `open:${id}`;
  }

  /** The refusal of anything new on a session of which an operation failed for good (R9). */
  failedRefusal(): Refusal {
    return new Refusal(
      "SESSION_FAILED",
      `an earlier operation of this ${this.options.what} failed; only replays, KeepAlive and Close are accepted`,
    );
  }

  /** An execution's outcome; until there is one the session knows of it and the lease stands still (ALL-LEASE-007). */
  track<A>(session: Session<S>, execution: Execution<A>): Outcome<A> | Promise<Outcome<A>> {
    const { outcome } = execution;
    if (outcome instanceof Promise || !execution.returnedAtOnce)
      return this.#trackWaiting(session, execution);
    if (session.end === undefined) this.touch(session);
    return outcome;
  }

  async #trackWaiting<A>(session: Session<S>, execution: Execution<A>): Promise<Outcome<A>> {
    const known = execution as Execution<unknown>;
    session.executions.add(known);
    let quiet = false;
    const loose = execution.quiet.then(() => {
      quiet = true;
      // What an ended session was still waiting for may be released now.
      if (session.loose.delete(loose) && session.end?.confirmed === false)
        void this.end(session, session.end.by);
    });
    const outcome = await execution.outcome;
    session.executions.delete(known);
    if (!quiet) session.loose.add(loose);
    if (session.end === undefined) this.touch(session);
    return outcome;
  }

  /** Ends a session; what is known of it goes when the retention is over. */
  async end(session: Session<S>, by: ClosedBy): Promise<void> {
    await this.ends.end(session, by);
    // ALL-CLOSE-005: what opened it is never replayed any more, so its answer need not be kept.
    this.options.runtime.ledger.forget(this.scope, this.openingOf(session.id));
  }

  /** Logs what work of a session threw unexpectedly. */
  logError(what: string, session: Session<S>, error: unknown): void {
    logError(this.options.runtime.log, { what, [this.options.what]: session.id }, error);
  }

  #tombstone(id: string): Session<S> {
    const session = new Session<S>(id, undefined, this.scopeOf(id));
    session.phase = "ended";
    session.end = { by: ClosedBy.CALLER, confirmed: true, left: [], releasing: undefined, retry: undefined };
    this.#sessions.set(id, session);
    this.#forgetLater(session);
    return session;
  }

  /** Receipts, tombstones and answers go when the retention is over (ALL-KEEP-002); what still leaks is not forgotten. */
  #forgetLater(session: Session<S>): void {
    const { runtime } = this.options;
    runtime.clock.setTimer(runtime.limits.retentionMs, () => {
      this.#sessions.delete(session.id);
      runtime.ledger.forget(this.scope, this.openingOf(session.id));
      runtime.ledger.drop(session.scope);
    });
  }
}
