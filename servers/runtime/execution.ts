import type { Clock, Timer } from "./clock.js";
import {
  type FailureContext,
  OperationFailedError,
  OperationFailure,
  timeoutFailure,
  toFailure,
} from "./failure.js";
import { LazyAbort } from "./lazy-abort.js";
import type { Outcome } from "./operation.js";

/** A failure that the work itself told is none, unless something unforeseen is behind it. */
function isUnexpected(error: unknown): boolean {
  try {
    return !(error instanceof OperationFailure) || error.cause !== undefined;
  } catch {
    // Not even its type can be asked for.
    return true;
  }
}

/** What an execution needs to know. */
export interface ExecutionOptions<A> {
  readonly clock: Clock;
  readonly answerId: string;
  /** For texts: `Step`, `Verify`. */
  readonly what: string;
  readonly timeoutMs: number;
  readonly context: FailureContext;
  /** The author's work. Its signal aborts at the timeout and when the session ends. */
  readonly run: (execution: Execution<A>) => A | Promise<A>;
  /** Told of what the work threw unexpectedly, for the log only. */
  readonly onError: (error: unknown) => void;
}

/**
 * One run of an operation's work, apart from its callers. It ends with whichever comes first: the work, the
 * operation's own timeout (counted from the start, ALL-LOST-008), `complete` or `cancel`. Work that returns at once has
 * its outcome at once: no promise and no timer is made for it.
 */
export class Execution<A> {
  readonly outcome: Outcome<A> | Promise<Outcome<A>>;
  readonly #options: ExecutionOptions<A>;
  readonly #startedAt: number;
  readonly #working: Promise<void> | undefined;
  #abort: LazyAbort | undefined;
  #timer: Timer | undefined;
  #ended: Outcome<A> | undefined;
  #tell: ((outcome: Outcome<A>) => void) | undefined;

  constructor(options: ExecutionOptions<A>) {
    this.#options = options;
    const { clock, what, timeoutMs } = options;
    this.#startedAt = clock.now();
    const returned = this.#run();
    if (!(returned instanceof Promise)) {
      this.outcome = this.#end(this.#inTime(returned));
      return;
    }
    this.#working = returned.then((outcome) => void this.#end(this.#inTime(outcome)));
    if (this.#ended !== undefined) {
      this.outcome = this.#ended;
      return;
    }
    this.outcome = new Promise((resolve) => {
      this.#tell = resolve;
    });
    const left = timeoutMs - Math.floor(clock.now() - this.#startedAt);
    this.#timer = clock.setTimer(Math.max(0, left), () => this.cancel(timeoutFailure(what, timeoutMs)));
  }

  /** Whether the work itself returned at once, so that `quiet` need not be waited for. */
  get returnedAtOnce(): boolean {
    return this.#working === undefined;
  }

  /** Resolves when the work itself has returned, which may be after the outcome. */
  get quiet(): Promise<void> {
    return this.#working ?? Promise.resolve();
  }

  /** Aborts when the work should stop: nobody will use what it still does. */
  get signal(): AbortSignal {
    this.#abort ??= new LazyAbort();
    return this.#abort.signal;
  }

  /** Ends the execution with an answer before its work has returned; the work is told by its signal. */
  complete(answer: A): void {
    this.#end({ ok: true, answer });
    this.#stop(undefined);
  }

  /** Ends the execution with a failure; the work is told by its signal. */
  cancel(failure: OperationFailure): void {
    this.#end(this.#failed(failure));
    this.#stop(failure);
  }

  /** What came of the work. Never throws or rejects, whatever the work threw. */
  #run(): Outcome<A> | Promise<Outcome<A>> {
    try {
      const returned = this.#options.run(this);
      if (!(returned instanceof Promise)) return { ok: true, answer: returned };
      return returned.then(
        (answer): Outcome<A> => ({ ok: true, answer }),
        (error: unknown) => this.#threw(error),
      );
    } catch (error) {
      return this.#threw(error);
    }
  }

  /** What work came to that returned in time; work that keeps the thread busy lets no timer go off (ALL-LOST-007). */
  #inTime(outcome: Outcome<A>): Outcome<A> {
    const { clock, what, timeoutMs } = this.#options;
    if (clock.now() - this.#startedAt < timeoutMs) return outcome;
    return this.#failed(timeoutFailure(what, timeoutMs));
  }

  #threw(error: unknown): Outcome<A> {
    if (this.#abort?.aborted !== true && isUnexpected(error)) this.#options.onError(error);
    return this.#failed(error);
  }

  #failed(error: unknown): Outcome<A> {
    const { context, answerId } = this.#options;
    return { ok: false, error: new OperationFailedError(toFailure(error, context), answerId) };
  }

  /** Only the first outcome counts. */
  #end(outcome: Outcome<A>): Outcome<A> {
    if (this.#ended !== undefined) return this.#ended;
    this.#timer?.cancel();
    this.#ended = outcome;
    this.#tell?.(outcome);
    return outcome;
  }

  #stop(reason: unknown): void {
    this.#abort ??= new LazyAbort();
    this.#abort.abort(reason);
  }
}
