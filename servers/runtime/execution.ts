import type { Clock } from "./clock.js";
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
  readonly run: (execution: Execution<A>) => Promise<A>;
  /** Told of what the work threw unexpectedly, for the log only. */
  readonly onError: (error: unknown) => void;
}

/**
 * One run of an operation's work, apart from its callers. It ends with whichever comes first: the work, the
 * operation's own timeout (counted from the start, ALL-LOST-008), `complete` or `cancel`.
 */
export class Execution<A> {
  readonly outcome: Promise<Outcome<A>>;
  /** Resolves when the work itself has returned, which may be after the outcome. */
  readonly quiet: Promise<void>;
  readonly #abort = new LazyAbort();
  readonly #fail: (failure: OperationFailure) => void;
  readonly #complete: (answer: A) => void;

  constructor(options: ExecutionOptions<A>) {
    const failed = (error: unknown): Outcome<A> => ({
      ok: false,
      error: new OperationFailedError(toFailure(error, options.context), options.answerId),
    });
    let end: (outcome: Outcome<A>) => void = () => {};
    this.outcome = new Promise((resolve) => {
      end = resolve;
    });
    this.#fail = (failure) => {
      timer.cancel();
      end(failed(failure));
      this.#abort.abort(failure);
    };
    this.#complete = (answer) => {
      timer.cancel();
      end({ ok: true, answer });
      this.#abort.abort();
    };
    const timer = options.clock.setTimer(options.timeoutMs, () =>
      this.#fail(timeoutFailure(options.what, options.timeoutMs)),
    );
    this.quiet = this.#run(options).then(
      (answer) => {
        timer.cancel();
        end({ ok: true, answer });
      },
      (error: unknown) => {
        timer.cancel();
        end(failed(error));
        if (!this.#abort.aborted && isUnexpected(error)) options.onError(error);
      },
    );
  }

  /** Aborts when the work should stop: nobody will use what it still does. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Ends the execution with an answer before its work has returned; the work is told by its signal. */
  complete(answer: A): void {
    this.#complete(answer);
  }

  /** Ends the execution with a failure; the work is told by its signal. */
  cancel(failure: OperationFailure): void {
    this.#fail(failure);
  }

  /** A function of its own, so that an author's function that throws at once is a rejection as well. */
  async #run(options: ExecutionOptions<A>): Promise<A> {
    return await options.run(this);
  }
}
