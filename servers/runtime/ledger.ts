import { Stage } from "../../gen/index.js";
import { OperationFailedError, toFailure } from "./failure.js";
import type { Fingerprint } from "./fingerprint.js";
import { type Logger, logError } from "./log.js";
import { type Delivery, Operation, type OperationEvents, type Outcome } from "./operation.js";
import type { Records } from "./records.js";
import { Refusal } from "./refusal.js";

/** The number of an operation among those of its kind in its scope; `step` and 3 are named `step:3`. */
export interface Numbered {
  readonly kind: string;
  readonly index: number;
}

/** The name that a number is. */
export function nameOfNumber({ kind, index }: Numbered): string {
  return `${kind}:${index}`;
}

/** An operation that somebody asks for. */
export interface Work<A> {
  /** Where its name lives: a session, or the table of all sessions. */
  readonly scope: string;
  /** Its name there, kind first: `step:3`, `verification:0`, `action:x` (ALL-REPEAT-009). */
  readonly name: string;
  /** Where the name is a number: which of its kind. */
  readonly numbered?: Numbered | undefined;
  readonly fingerprint: Fingerprint;
  /**
   * Calls `begin` once, last of all, at once or later, when the work may begin: the work begins within that call, so that
   * nothing comes between what admits it and it (ALL-CLOSE-007). Throws a Refusal when it must not begin: then nothing is
   * recorded and the name is free (ALL-REPEAT-008).
   */
  readonly admit: (operation: Operation<A>, begin: () => void) => void | Promise<void>;
  /** The events of a streamed operation, made when it starts. */
  readonly events?: () => OperationEvents;
  /** Does the work. What it throws is recorded as an unexpected failure. */
  readonly execute: (operation: Operation<A>) => Outcome<A> | Promise<Outcome<A>>;
}

/** An operation and how the caller came to it. */
export interface Delivered<A> {
  readonly operation: Operation<A>;
  readonly delivery: Delivery;
}

/** The only place that knows of repeats: join, replay or conflict (R2). */
export interface Ledger {
  /**
   * Starts the work, or finds it under its name. Throws OPERATION_CONFLICT for other content under the same name and
   * ANSWER_EXPIRED where the answer is no longer kept. A refusal by `admit` reaches whoever waits for the operation.
   */
  perform<A>(work: Work<A>): Delivered<A>;
  /** The operation under a name, if there is one. */
  find(scope: string, name: string): Operation<unknown> | undefined;
  /**
   * Gives an operation that has a name of its own its number too: asking for the same work by that is a conflict, also
   * for an operation that waits under it.
   */
  number(scope: string, numbered: Numbered, operation: Operation<unknown>): void;
  /** Lets an answer go; its name stays taken (R14). */
  expire(scope: string, name: string): void;
  /**
   * Tells that a numbered operation has ended. Of its kind the answers of the newest `count` are kept, older ones let
   * go; all their names stay taken (ALL-KEEP-001).
   */
  keepNewest(scope: string, ended: Numbered & { readonly name: string }, count: number): void;
  /** Forgets a name altogether. */
  forget(scope: string, name: string): void;
  /** Forgets all names of a scope. */
  drop(scope: string): void;
}

/** A ledger over the given records; the log has what work broke with. */
export function createLedger(records: Records, log: Logger): Ledger {
  /** ALL-REPEAT-010: done, and no longer kept; never a second execution. */
  function expired(name: string): Refusal {
    return new Refusal("ANSWER_EXPIRED", `${name} was done and its answer is no longer kept`);
  }

  function conflict(text: string): Refusal {
    return new Refusal("OPERATION_CONFLICT", text);
  }

  /** Whether a number was used up so long ago that not even its record is kept. */
  function isPast(scope: string, numbered: Numbered | undefined): boolean {
    return numbered !== undefined && numbered.index < records.kept(scope, numbered.kind).first;
  }

  function start<A>(work: Work<A>): Operation<A> {
    const operation = new Operation<A>(work.name, work.fingerprint);
    operation.events = work.events?.();
    records.set(work.scope, work.name, operation as Operation<unknown>);
    // Nobody waits for ever, whatever broke: the operation began, so it has failed.
    const broken = (error: unknown): void => {
      logError(log, { scope: work.scope, operation: work.name }, error);
      operation.settle({
        ok: false,
        error: new OperationFailedError(toFailure(error, { stage: Stage.UNSPECIFIED }), operation.answerId),
      });
    };
    /** Never throws: what began is not refused any more. */
    const begin = (): void => {
      operation.state = "running";
      try {
        const outcome = work.execute(operation);
        if (outcome instanceof Promise) outcome.then((later) => operation.settle(later), broken);
        else operation.settle(outcome);
      } catch (error) {
        broken(error);
      }
    };
    const refuse = (refusal: unknown): void => {
      const holder = records.get(work.scope, work.name);
      const own = operation as Operation<unknown>;
      if (holder === own) records.delete(work.scope, work.name);
      // Its number may have gone to an operation with a name of its own while it waited.
      const displaced = holder !== undefined && holder !== own;
      operation.refuse(
        displaced ? conflict(`${work.name} was asked for under another name meanwhile`) : refusal,
      );
    };
    try {
      const admitted = work.admit(operation, begin);
      if (admitted !== undefined) void admitted.catch(refuse);
    } catch (refusal) {
      records.delete(work.scope, work.name);
      throw refusal;
    }
    return operation;
  }

  return {
    perform<A>(work: Work<A>): Delivered<A> {
      const known = records.get(work.scope, work.name) as Operation<A> | undefined;
      if (known === undefined) {
        if (isPast(work.scope, work.numbered)) throw expired(work.name);
        return { operation: start(work), delivery: "started" };
      }
      if (known.state === "expired") throw expired(work.name);
      // ALL-REPEAT-004, -005
      if (known.fingerprint !== work.fingerprint) {
        throw conflict(
          `${work.name} was asked for with other content; a repeat must equal the first request`,
        );
      }
      return { operation: known, delivery: known.state === "ended" ? "replayed" : "joined" };
    },
    find: (scope, name) => records.get(scope, name),
    number: (scope, numbered, operation) => records.set(scope, nameOfNumber(numbered), operation),
    expire: (scope, name) => records.get(scope, name)?.expire(),
    keepNewest(scope, { kind, index, name }, count) {
      const kept = records.kept(scope, kind);
      kept.names.push(name);
      if (kept.names.length <= count) return;
      const oldest = kept.names.shift();
      if (oldest === undefined) return;
      // A number below the first kept one is known to be taken; a name of a caller's own has to be remembered.
      const numberName = nameOfNumber({ kind, index: index - kept.names.length });
      records.delete(scope, numberName);
      kept.first = index - kept.names.length + 1;
      if (oldest !== numberName) records.get(scope, oldest)?.expire();
    },
    forget: (scope, name) => records.delete(scope, name),
    drop: (scope) => records.drop(scope),
  };
}
