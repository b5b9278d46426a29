import type { OperationFailedError } from "./failure.js";
import type { Fingerprint } from "./fingerprint.js";
import { newAnswerId } from "./identity.js";
import { LazyAbort } from "./lazy-abort.js";

/** How an operation ended: with an answer, or with a recorded failure. */
export type Outcome<A> =
  | { readonly ok: true; readonly answer: A }
  | { readonly ok: false; readonly error: OperationFailedError };

/** What an operation itself needs of its events. */
export interface OperationEvents {
  /** Ends its readers, unless a terminal event has: with an error where there is one. */
  close(error?: unknown): void;
}

/** How a caller came to an answer: trailer touchstone-delivery (ALL-REPEAT-019). */
export type Delivery = "started" | "joined" | "replayed";

/** Who waits for an answer. The signal is asked for only where the wait may be withdrawn, because making one costs. */
export interface Caller {
  readonly signal: AbortSignal;
}

/**
 * Work that is done once under its name (R2). It waits until it may begin, runs apart from the calls that wait for it
 * (R7), and keeps its outcome for those that repeat them.
 */
export class Operation<A> {
  /** New for each execution (ALL-REPEAT-012). */
  readonly answerId = newAnswerId();
  state: "waiting" | "running" | "ended" | "expired" = "waiting";
  /** The events of a streamed operation (R17). */
  events: OperationEvents | undefined;
  #outcome: Outcome<A> | undefined;
  #refusal: unknown;
  #callers = 0;
  #withdraw: LazyAbort | undefined;
  #wake: (() => void)[] | undefined;

  constructor(
    readonly name: string,
    readonly fingerprint: Fingerprint,
  ) {}

  /** Aborts when every caller has left before the operation began (ALL-ADM-003), or by `withdraw`. */
  get withdrawn(): AbortSignal {
    this.#withdraw ??= new LazyAbort();
    return this.#withdraw.signal;
  }

  /** Everybody who waited for it has left before it began, and nobody has come back. */
  get deserted(): boolean {
    return this.#withdraw?.aborted === true && this.#callers === 0;
  }

  /** Takes an operation that still waits back. */
  withdraw(): void {
    if (this.state !== "waiting") return;
    this.#withdraw ??= new LazyAbort();
    this.#withdraw.abort();
  }

  /** The outcome, once there is one. */
  get outcome(): Outcome<A> | undefined {
    return this.#outcome;
  }

  /** Ends the operation, and whoever follows it; a later outcome does not count. */
  settle(outcome: Outcome<A>): void {
    if (this.#outcome !== undefined) return;
    this.#outcome = outcome;
    this.state = "ended";
    this.events?.close(outcome.ok ? undefined : outcome.error);
    this.#wakeAll();
  }

  /** Ends the wait of all callers with a refusal: the operation never began. */
  refuse(refusal: unknown): void {
    this.#refusal = refusal;
    this.state = "ended";
    this.events?.close(refusal);
    this.#wakeAll();
  }

  /** Lets the answer go; its name stays, so that it is never done again (ALL-REPEAT-010). */
  expire(): void {
    this.state = "expired";
    this.#outcome = undefined;
    this.events = undefined;
  }

  /** The outcome, when there is one. Throws the refusal of an operation that never began. */
  async settled(caller?: Caller): Promise<Outcome<A>> {
    if (this.#outcome === undefined && this.#refusal === undefined) {
      const leave = this.attend(caller);
      await new Promise<void>((resolve) => {
        this.#wake ??= [];
        this.#wake.push(resolve);
      });
      leave();
    }
    if (this.#outcome === undefined) throw this.#refusal;
    return this.#outcome;
  }

  /**
   * The answer: at once where there is one, else when there is. Throws the recorded failure, or the refusal, or rejects
   * with it.
   */
  answer(caller?: Caller): A | Promise<A> {
    if (this.#outcome === undefined) return this.settled(caller).then(answerOf);
    return answerOf(this.#outcome);
  }

  /**
   * Counts a caller among those who wait, until its signal aborts or what this answers is called. When the last one
   * leaves before the operation began, it is taken back (ALL-ADM-003); one that no caller is given of never leaves.
   */
  attend(caller?: Caller): () => void {
    if (this.state !== "waiting") return nothing;
    this.#callers += 1;
    if (caller === undefined) return nothing;
    const { signal } = caller;
    let waits = true;
    const leave = (): void => {
      if (!waits) return;
      waits = false;
      signal.removeEventListener("abort", leave);
      this.#callers -= 1;
      if (this.#callers === 0) this.withdraw();
    };
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave, { once: true });
    return leave;
  }

  #wakeAll(): void {
    const waiting = this.#wake;
    this.#wake = undefined;
    for (const wake of waiting ?? []) wake();
  }
}

function nothing(): void {}

function answerOf<A>(outcome: Outcome<A>): A {
  if (!outcome.ok) throw outcome.error;
  return outcome.answer;
}
