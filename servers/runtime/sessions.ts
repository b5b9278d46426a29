import type { Admission } from "./admission.js";
import { type Delivered, type Numbered, nameOfNumber } from "./ledger.js";
import type { Operation } from "./operation.js";
import { openSession } from "./session-opening.js";
import { operateSession } from "./session-operation.js";
import { type SessionsOptions, SessionTable } from "./session-table.js";
import type { Opening, SessionWork } from "./session-work.js";

/**
 * The sessions of one service: opened under their callers' ids, worked with one operation at a time, ended by Close,
 * silence, age or drain (R5, R6), and remembered as long as the retention says (R14).
 */
export class Sessions<S> extends SessionTable<S> {
  /** Its places (R12); work that holds as much as a session does takes one of them too. */
  readonly admission: Admission;

  constructor(options: SessionsOptions<S>) {
    super(options);
    const { clock, limits, admission } = options.runtime;
    this.admission = admission({ clock, max: limits.maxSessions, queueTimeoutMs: limits.queueTimeoutMs });
  }

  /** Opens a session, or finds the operation that did. */
  create<A>(opening: Opening<S, A>): Delivered<A> {
    return openSession(this, this.admission, opening);
  }

  /** Performs an operation of a session, or finds it under its name. */
  operate<A>(id: string, work: SessionWork<S, A>): Delivered<A> {
    return operateSession(this, id, work);
  }

  /** The recorded operation of a session under its number, if there is one. */
  recorded(id: string, numbered: Numbered): Operation<unknown> | undefined {
    return this.options.runtime.ledger.find(this.scopeOf(id), nameOfNumber(numbered));
  }
}
