import { type Admission, callerLeft, type Slot } from "./admission.js";
import { clamp } from "./duration.js";
import { Execution } from "./execution.js";
import type { Delivered } from "./ledger.js";
import type { Operation, Outcome } from "./operation.js";
import { drainingRefusal } from "./refusal.js";
import { describeLease, Session } from "./session.js";
import { watchLease } from "./session-lease.js";
import type { SessionTable } from "./session-table.js";
import type { Opened, Opening } from "./session-work.js";

/** Opens a session once admission gives it a place, or finds the operation that did. */
export function openSession<S, A>(
  table: SessionTable<S>,
  admission: Admission,
  opening: Opening<S, A>,
): Delivered<A> {
  const { runtime } = table.options;
  const known = table.get(opening.id);
  if (known?.end !== undefined) throw table.ends.refusal(known);
  let session: Session<S> | undefined;
  const timeoutMs = clamp(opening.timeout, runtime.limits.timeout);
  const delivered = runtime.ledger.perform<A>({
    scope: table.scope,
    name: table.openingOf(opening.id),
    fingerprint: `${opening.kind}:${opening.fingerprint}`,
    admit: (operation, begin) => {
      if (runtime.draining) throw drainingRefusal();
      const fresh = new Session<S>(opening.id, opening.context, table.scopeOf(opening.id));
      opening.check?.();
      session = fresh;
      session.opening = operation as Operation<unknown>;
      table.add(fresh);
      return admit(table, { admission, session: fresh, operation, begin }, opening);
    },
    execute: (operation) => {
      if (session === undefined) throw new Error("an opening began without its session");
      return make(table, { session, operation, timeoutMs }, opening);
    },
  });
  if (known !== undefined && known.phase === "live") table.touch(known);
  return delivered;
}

interface Admitting<S, A> {
  readonly admission: Admission;
  readonly session: Session<S>;
  readonly operation: Operation<A>;
  /** Begins to make it. */
  readonly begin: () => void;
}

/** Waits for a place, then lets the session live, which is made from then on: a Close never comes between. */
function admit<S, A>(
  table: SessionTable<S>,
  { admission, session, operation, begin }: Admitting<S, A>,
  opening: Opening<S, A>,
): void | Promise<void> {
  const live = (slot: Slot): void => {
    const { clock, limits } = table.options.runtime;
    try {
      opening.begin?.();
    } catch (refusal) {
      slot.release();
      table.remove(session.id);
      throw refusal;
    }
    session.slot = slot;
    // The turn is taken with the place, so that what comes before the session is made waits for it.
    void session.turn.take();
    session.phase = "live";
    session.opening = undefined;
    session.leaseMs = clamp(opening.lease, limits.lease);
    session.bornAt = clock.now();
    table.touch(session);
    watchLease(session, table.options.runtime, (by) => void table.end(session, by));
    begin();
  };
  try {
    const slot = admission.enter(() => operation.withdrawn);
    if (!(slot instanceof Promise)) return live(slot);
    return slot.then(
      (given) => {
        if (session.end !== undefined) {
          given.release();
          throw table.ends.refusal(session);
        }
        // Its last caller may have left after the place was given and before it came here.
        if (operation.deserted) {
          given.release();
          table.remove(session.id);
          throw callerLeft();
        }
        live(given);
      },
      (refusal: unknown) => {
        if (session.end === undefined) table.remove(session.id);
        throw session.end === undefined ? refusal : table.ends.refusal(session);
      },
    );
  } catch (refusal) {
    table.remove(session.id);
    throw refusal;
  }
}

interface Making<S, A> {
  readonly session: Session<S>;
  readonly operation: Operation<A>;
  readonly timeoutMs: number;
}

async function make<S, A>(
  table: SessionTable<S>,
  { session, operation, timeoutMs }: Making<S, A>,
  opening: Opening<S, A>,
): Promise<Outcome<A>> {
  const { runtime } = table.options;
  const lease = describeLease(session.leaseMs, runtime.limits.maxLifetimeMs);
  const execution = new Execution<Opened<S, A>>({
    clock: runtime.clock,
    answerId: operation.answerId,
    what: opening.kind,
    timeoutMs,
    context: { stage: table.options.stage },
    onError: (error) => table.logError(opening.kind, session, error),
    run: async (running) => {
      const made = await opening.make(running, { answerId: operation.answerId, lease, timeoutMs });
      // Whatever the outcome is, or was: there is something to release from here on.
      session.held = made.state;
      return made;
    },
  });
  try {
    const outcome = await table.track(session, execution);
    if (!outcome.ok) {
      session.failed = true;
      // Its place is free when its work is quiet, which may be long after its timeout.
      void execution.quiet.then(() => table.ends.abandon(session));
      return outcome;
    }
    const { state, answer, begun } = outcome.answer;
    session.state = state;
    session.first = begun ?? session.first;
    for (const [kind, number] of session.first) session.next.set(kind, number);
    return { ok: true, answer };
  } finally {
    session.turn.give();
  }
}
