import type { Clock, Timer } from "../servers/runtime/clock.js";

/** What gives up episodes that still run after a stop. */
export interface AbandonOptions {
  readonly clock: Clock;
  /** Milliseconds that episodes may go on after the stop. */
  readonly drainMs: number;
  /** Aborts when the user wants no more of it. */
  readonly atOnce: AbortSignal;
  /** Aborts when results cannot be stored any more. */
  readonly broken: AbortSignal;
}

/** A signal that aborts, with the reason that failures tell, when what still runs after a stop is to be given up. */
export function abandonAfter(
  stop: AbortSignal,
  { clock, drainMs, atOnce, broken }: AbandonOptions,
): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController();
  let timer: Timer | undefined;
  const onStop = (): void => {
    timer = clock.setTimer(drainMs, () =>
      controller.abort(`the run was stopped, and the episode did not end within ${drainMs} ms`),
    );
  };
  const onAtOnce = (): void => controller.abort("the run was stopped at once");
  const onBroken = (): void => controller.abort("the run's files cannot be written");
  const listeners = [
    [stop, onStop],
    [atOnce, onAtOnce],
    [broken, onBroken],
  ] as const;
  for (const [signal, listener] of listeners) {
    if (signal.aborted) listener();
    else signal.addEventListener("abort", listener, { once: true });
  }
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      timer?.cancel();
      for (const [signal, listener] of listeners) signal.removeEventListener("abort", listener);
    },
  };
}
