import { Stage } from "../../gen/index.js";
import { OperationFailedError, toFailure } from "./failure.js";
import { type Fingerprint, sameFingerprint } from "./fingerprint.js";
import { type Delivery, Operation, type OperationEvents, type Outcome } from "./operation.js";
import type { Records } from "./records.js";
import { Refusal } from "./refusal.js";

/** An operation that somebody asks for. */
export interface Work<A> {
  /** Where its name lives: a session, or the table of all sessions. */
  readonly scope: string;
  /** Its name there, kind first: `step:3`, `verify:0` (ALL-REPEAT-009). */
  readonly name: string;
  readonly fingerprint: Fingerprint;
  /**
   * Returns, at once or later, when the work may begin. Throws a Refusal when it must not: then nothing is recorded
   * and the name is free (ALL-REPEAT-008).
   */
  readonly admit: (operation: Operation<A>) => void | Promise<void>;
  /** The events of a streamed operation, made when it starts. */
  readonly events?: () => OperationEvents;
  /** Does the work. What it throws is recorded as an unexpected failure. */
  readonly execute: (operation: Operation<A>) => Promise<Outcome<A>>;
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
  /** Takes a further name for an operation, so that the same work asked for by it is a conflict. */
  alias(scope: string, name: string, operation: Operation<unknown>): void;
  /** Lets an answer go; its name stays taken (R14). */
  expire(scope: string, name: string): void;
  /** Forgets a name altogether. */
  forget(scope: string, name: string): void;
  /** Forgets all names of a scope. */
  drop(scope: string): void;
}

/** A ledger over the given records. */
export function createLedger(records: Records): Ledger {
  function start<A>(work: Work<A>): Operation<A> {
    const operation = new Operation<A>(work.name, work.fingerprint);
    operation.events = work.events?.();
    records.set(work.scope, work.name, operation as Operation<unknown>);
    const begin = (): void => {
      operation.state = "running";
      work.execute(operation).then(
        (outcome) => operation.settle(outcome),
        // Nobody waits for ever, whatever broke: the operation began, so it has failed.
        (error: unknown) =>
          operation.settle({
            ok: false,
            error: new OperationFailedError(
              toFailure(error, { stage: Stage.UNSPECIFIED }),
              operation.answerId,
            ),
          }),
      );
    };
    const refuse = (refusal: unknown): void => {
      // Its name may have gone to another operation while it waited.
      if (records.get(work.scope, work.name) === operation) records.delete(work.scope, work.name);
      operation.refuse(refusal);
    };
    try {
      const admitted = work.admit(operation);
      if (admitted === undefined) begin();
      else void admitted.then(begin, refuse);
    } catch (refusal) {
      records.delete(work.scope, work.name);
      throw refusal;
    }
    return operation;
  }

  return {
    perform<A>(work: Work<A>): Delivered<A> {
      const known = records.get(work.scope, work.name) as Operation<A> | undefined;
      if (known === undefined) return { operation: start(work), delivery: "started" };
      // ALL-REPEAT-010: done, and no longer kept; never a second execution.
      if (known.state === "expired") {
        throw new Refusal("ANSWER_EXPIRED", `${work.name} was done and its answer is no longer kept`);
      }
      // ALL-REPEAT-004, -005
      if (!sameFingerprint(known.fingerprint, work.fingerprint)) {
        throw new Refusal(
          "OPERATION_CONFLICT",
          `${work.name} was asked for with other content; a repeat must equal the first request`,
        );
      }
      return { operation: known, delivery: known.state === "ended" ? "replayed" : "joined" };
    },
    find: (scope, name) => records.get(scope, name),
    alias: (scope, name, operation) => records.set(scope, name, operation),
    expire: (scope, name) => records.get(scope, name)?.expire(),
    forget: (scope, name) => records.delete(scope, name),
    drop: (scope) => records.drop(scope),
  };
}
