import { Retry } from "../../gen/index.js";
import { Execution } from "./execution.js";
import { type Delivered, nameOfNumber } from "./ledger.js";
import type { Operation, Outcome } from "./operation.js";
import { Refusal } from "./refusal.js";
import type { Session } from "./session.js";
import type { SessionTable } from "./session-table.js";
import type { SessionWork } from "./session-work.js";

/** Performs an operation of a session at its turn (R3), or finds it under its name. */
export function operateSession<S, A>(
  table: SessionTable<S>,
  id: string,
  work: SessionWork<S, A>,
): Delivered<A> {
  const { runtime } = table.options;
  const session = table.known(id);
  const { scope } = session;
  const numbered = work.index === undefined ? undefined : { kind: work.kind, index: work.index };
  const name = work.ownName ?? (numbered === undefined ? undefined : nameOfNumber(numbered));
  if (name === undefined) throw new Error(`a ${work.kind} without a number and a name`);
  let index = -1;
  const delivered = runtime.ledger.perform<A>({
    scope,
    name,
    numbered,
    fingerprint: work.fingerprint,
    ...(work.events === undefined ? {} : { events: work.events }),
    admit: (operation, begin) => {
      mayBegin(table, session);
      const turn = takeTurn(table, session);
      const atTurn = (): void => {
        try {
          mayBegin(table, session);
          if (operation.deserted) throw deserted();
          if (session.loose.size > 0) throw busy(table);
          work.check?.(session);
          index = takeIndex(table, session, work);
        } catch (refusal) {
          session.turn.give();
          throw refusal;
        }
        if (numbered === undefined) {
          runtime.ledger.number(scope, { kind: work.kind, index }, operation as Operation<unknown>);
        }
        begin();
      };
      return turn === undefined ? atTurn() : turn.then(atTurn);
    },
    execute: (operation) => run(table, { session, operation, index }, work),
  });
  if (delivered.delivery !== "started" && session.end === undefined) table.touch(session);
  return delivered;
}

/** Takes the turn of a session, and waits for what an earlier operation left running (R3). */
function takeTurn<S>(table: SessionTable<S>, session: Session<S>): void | Promise<void> {
  const turn = session.turn.take();
  if (turn === undefined && session.loose.size === 0) return undefined;
  return (turn ?? Promise.resolve()).then(() => table.ends.quiet(session)).then(() => {});
}

function busy<S>(table: SessionTable<S>): Refusal {
  return new Refusal(
    "SESSION_BUSY",
    `work of an earlier operation of this ${table.options.what} has not stopped yet; try again`,
  );
}

function deserted(): Refusal {
  return new Refusal("SESSION_BUSY", "withdrawn: every caller left while it waited for its turn");
}

/** Throws the refusal of a session on which nothing begins any more. */
function mayBegin<S>(table: SessionTable<S>, session: Session<S>): void {
  if (session.end !== undefined) throw table.ends.refusal(session);
  if (session.failed) throw table.failedRefusal();
}

/** Uses up the next index; refuses a gap (ALL-ORDER-002, ALL-ORDER-007). */
function takeIndex<S, A>(table: SessionTable<S>, session: Session<S>, work: SessionWork<S, A>): number {
  const expected = session.begun(work.kind);
  if (work.index !== undefined && work.index !== expected) {
    throw new Refusal(
      "OUT_OF_ORDER",
      `the next ${work.kind} of this ${table.options.what} is ${expected}, not ${work.index}`,
      { metadata: { expected_index: String(expected) } },
    );
  }
  session.next.set(work.kind, expected + 1);
  return expected;
}

interface Running<S, A> {
  readonly session: Session<S>;
  readonly operation: Operation<A>;
  /** The number that it has. */
  readonly index: number;
}

/** Runs an operation that has the turn, and gives the turn back however it ends. */
function run<S, A>(
  table: SessionTable<S>,
  running: Running<S, A>,
  work: SessionWork<S, A>,
): Outcome<A> | Promise<Outcome<A>> {
  const { session } = running;
  const broken = (error: unknown): never => {
    // The ledger records what broke as the operation's failure.
    if (work.harmless !== true) session.failed = true;
    throw error;
  };
  let later = false;
  try {
    const outcome = perform(table, running, work);
    later = outcome instanceof Promise;
    if (!(outcome instanceof Promise)) return outcome;
    return outcome.then(
      (ended) => {
        session.turn.give();
        return ended;
      },
      (error: unknown) => {
        session.turn.give();
        return broken(error);
      },
    );
  } catch (error) {
    return broken(error);
  } finally {
    if (!later) session.turn.give();
  }
}

function perform<S, A>(
  table: SessionTable<S>,
  { session, operation, index }: Running<S, A>,
  work: SessionWork<S, A>,
): Outcome<A> | Promise<Outcome<A>> {
  const { runtime } = table.options;
  const { state } = session;
  if (state === undefined) throw new Error("an operation began in a session without state");
  const { answerId } = operation;
  const execution = new Execution<A>({
    clock: runtime.clock,
    answerId,
    what: work.kind,
    timeoutMs: typeof work.timeoutMs === "function" ? work.timeoutMs(state) : work.timeoutMs,
    context: typeof work.context === "function" ? work.context(state) : work.context,
    onError: (error) => table.logError(work.kind, session, error),
    run: (running) => work.run({ session, state, index, answerId, operation, execution: running }),
  });
  const finish = (outcome: Outcome<A>): Outcome<A> => {
    if (!outcome.ok && work.harmless !== true && outcome.error.failure.retry !== Retry.NEXT_INDEX)
      session.failed = true;
    if (work.keepNewest !== undefined) {
      const ended = { kind: work.kind, index, name: operation.name };
      runtime.ledger.keepNewest(session.scope, ended, work.keepNewest);
    }
    work.onEnd?.(outcome, { session, state, index, answerId, operation, execution });
    return outcome;
  };
  const outcome = table.track(session, execution);
  return outcome instanceof Promise ? outcome.then(finish) : finish(outcome);
}
