import { create } from "@bufbuild/protobuf";
import {
  ClosedBy,
  type CloseReceipt,
  CloseReceiptSchema,
  FailureKind,
  type LeftResource,
  LeftResourceSchema,
  Retry,
  Stage,
} from "../../gen/index.js";
import { cancelledFailure, OperationFailure, toFailure } from "./failure.js";
import { logError } from "./log.js";
import { Refusal } from "./refusal.js";
import type { Runtime } from "./runtime.js";
import type { Session } from "./session.js";
import { within } from "./within.js";

/** What ending a session needs to know of its service. */
export interface SessionEndOptions<S> {
  readonly runtime: Runtime;
  /** What one is called in texts: `session`, `gateway`. */
  readonly what: string;
  /**
   * Releases what a session holds; called once its work has stopped or the grace has passed, and again by a further
   * Close while something is left, never twice at once. Answers what is left; what it throws is left as well. The state
   * itself is kept as long as answers are: what it holds beyond that is let go here.
   */
  release(session: Session<S>, state: S): Promise<readonly LeftResource[]>;
}

/** Milliseconds between tries to release what a Close could not. */
const releaseRetryMs = 30_000;

const endings: Partial<Record<ClosedBy, string>> = {
  [ClosedBy.LEASE]: "its lease",
  [ClosedBy.LIFETIME]: "its max_lifetime",
  [ClosedBy.DRAIN]: "the server's drain",
};

function tooLong(what: string, ms: number): OperationFailure {
  return new OperationFailure({
    kind: FailureKind.TIMEOUT,
    retry: Retry.NEVER,
    reason: `${what} within ${ms} ms`,
  });
}

/** How sessions end: by Close, silence, age or drain, all alike (R5, ALL-LEASE-005). */
export class SessionEnds<S> {
  constructor(
    private readonly options: SessionEndOptions<S>,
    /** Told once, when nothing of a session is left: from then on it is only remembered. */
    private readonly onConfirmed: (session: Session<S>) => void,
  ) {}

  /** Ends a session, or goes on ending it. Resolves when it is released or the grace has passed. */
  async end(session: Session<S>, by: ClosedBy): Promise<void> {
    if (session.end === undefined) {
      const waited = session.phase === "waiting";
      session.phase = "ended";
      session.timer?.cancel();
      session.end = { by, confirmed: false, left: [], releasing: undefined, retry: undefined };
      // What was never admitted holds nothing; whoever waits for it is told.
      if (waited) {
        session.end.confirmed = true;
        session.opening?.withdraw();
        this.onConfirmed(session);
      }
      for (const execution of session.executions) {
        execution.cancel(
          cancelledFailure(by === ClosedBy.CALLER ? "the session was closed" : "the session ended"),
        );
      }
    }
    const { end } = session;
    if (end.confirmed) return;
    end.releasing ??= this.#release(session).finally(() => {
      end.releasing = undefined;
    });
    await end.releasing;
  }

  /** The refusal of anything new on a session that has ended (ALL-CLOSE-001, ALL-LEASE-004). */
  refusal(session: Session<S>): Refusal {
    const { what } = this.options;
    const by = session.end?.by;
    const ending = by === undefined ? undefined : endings[by];
    return ending === undefined
      ? new Refusal("SESSION_CLOSED", `this ${what} was closed`)
      : new Refusal("SESSION_EXPIRED", `this ${what} was ended by ${ending}`);
  }

  /** The receipt of a session that has ended; the same at each further Close, `already` apart (ALL-CLOSE-002). */
  receipt(session: Session<S>, already: boolean): CloseReceipt {
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

  async #release(session: Session<S>): Promise<void> {
    const { runtime, what } = this.options;
    const left: LeftResource[] = [];
    if (!(await this.quiet(session))) {
      left.push(
        this.#left("operation", session.id, tooLong("its work did not stop", runtime.limits.closeGraceMs)),
      );
    }
    try {
      left.push(...(await this.#withinGrace(this.#releaseHeld(session))));
    } catch (error) {
      logError(runtime.log, { what: "release", [what]: session.id }, error);
      left.push(this.#left(what, session.id, error));
    }
    session.slot?.release();
    const { end } = session;
    if (end === undefined) return;
    end.left = left;
    end.confirmed = left.length === 0;
    end.retry?.cancel();
    if (end.confirmed) this.onConfirmed(session);
    else end.retry = runtime.clock.setTimer(releaseRetryMs, () => void this.end(session, end.by));
  }

  /**
   * Lets go what a session holds whose opening failed, once nothing of it runs any more; its place is free then
   * (ENV-SEED-010), and when a release has hung for the grace of a Close. What cannot be released is left to the session's
   * end.
   */
  async abandon(session: Session<S>): Promise<void> {
    // One that has ended meanwhile is released by its end.
    if (session.end !== undefined) return;
    const { runtime, what } = this.options;
    try {
      const left = await this.#withinGrace(this.#releaseHeld(session));
      for (const { kind, id } of left)
        runtime.log.warn({ what: "release", [what]: session.id, left: { kind, id } });
    } catch (error) {
      logError(runtime.log, { what: "release", [what]: session.id }, error);
    }
    session.slot?.release();
    session.slot = undefined;
  }

  /** The service's own release; one that still hangs is waited for again, not begun a second time. */
  #releaseHeld(session: Session<S>): Promise<readonly LeftResource[]> {
    const { held } = session;
    if (held === undefined) return Promise.resolve([]);
    session.releaseWork ??= this.options
      .release(session, held)
      .then((left) => {
        if (left.length === 0) session.held = undefined;
        return left;
      })
      .finally(() => {
        session.releaseWork = undefined;
      });
    return session.releaseWork;
  }

  /** Whether all work of a session has returned within the grace (ALL-CLOSE-007). */
  async quiet(session: Session<S>): Promise<boolean> {
    if (session.loose.size === 0 && session.executions.size === 0) return true;
    // Executions were cancelled; one turn of the loop moves them to `loose`.
    await new Promise(setImmediate);
    try {
      await this.#withinGrace(Promise.all(session.loose));
      return true;
    } catch {
      return false;
    }
  }

  #withinGrace<T>(work: Promise<T>): Promise<T> {
    const { clock, limits } = this.options.runtime;
    const ms = limits.closeGraceMs;
    return within(work, { clock, ms, late: () => tooLong("its release did not end", ms) });
  }

  #left(kind: string, id: string, error: unknown): LeftResource {
    return create(LeftResourceSchema, { kind, id, failure: toFailure(error, { stage: Stage.CLEAN_UP }) });
  }
}
