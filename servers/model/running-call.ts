import { Code, ConnectError } from "@connectrpc/connect";
import type { OperationFailure } from "../runtime/failure.js";

/** A call of the model while it runs: it ends with its caller (R7, MDL-GEN-012), or when its gateway is closed. */
export class RunningCall {
  readonly #abort = new AbortController();
  readonly #onLeave = (): void => this.#abort.abort(new ConnectError("the caller left", Code.Canceled));
  #work: Promise<unknown> = Promise.resolve();
  #cancelled: OperationFailure | undefined;

  #resolveOver: () => void = () => {};
  /** Resolves when the call has ended and the model's work has returned, which may be later. */
  readonly over = new Promise<void>((resolve) => {
    this.#resolveOver = resolve;
  });

  constructor(private readonly caller: AbortSignal) {
    if (caller.aborted) this.#onLeave();
    else caller.addEventListener("abort", this.#onLeave, { once: true });
  }

  /** Aborts when the call must end. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** What ended the call from outside; undefined: nothing did, or its caller left. */
  get cancelled(): OperationFailure | undefined {
    return this.#cancelled;
  }

  /** Ends the call from outside. */
  cancel(failure: OperationFailure): void {
    if (this.signal.aborted) return;
    this.#cancelled = failure;
    this.#abort.abort(failure);
  }

  /** The outcome of the model's work, or the reason of an earlier end; a model that does not stop is not waited for. */
  readonly until = async <T>(work: Promise<T>): Promise<T> => {
    this.#work = work;
    const { signal } = this;
    return await new Promise<T>((resolve, reject) => {
      const onAbort = (): void => reject(signal.reason);
      if (signal.aborted) onAbort();
      else signal.addEventListener("abort", onAbort, { once: true });
      work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
    });
  };

  /** The call has ended: its caller's leaving means nothing any more. */
  end(): void {
    this.caller.removeEventListener("abort", this.#onLeave);
    this.#work.then(this.#resolveOver, this.#resolveOver);
  }
}
