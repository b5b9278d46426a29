/** What the user asks by signals. */
export interface Interrupt extends Disposable {
  /** Aborts at the first SIGINT, SIGTERM or SIGHUP: stop, and let what runs end. */
  readonly stop: AbortSignal;
  /** Aborts at the second: end what runs. */
  readonly abandon: AbortSignal;
}

/** The exit code of a process that a signal ended, as shells have it for SIGINT. */
const killed = 130;
const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** What is said at the first signal and at the second: what happens now, and what the next one will do. */
export interface InterruptWords {
  readonly stopping: () => string;
  readonly abandoning: () => string;
}

/** Listens to signals, telling on standard error what the next one will do; the third ends the process at once. */
export function onInterrupt(words: InterruptWords): Interrupt {
  const stop = new AbortController();
  const abandon = new AbortController();
  const onSignal = (): void => {
    if (abandon.signal.aborted) process.exit(killed);
    const [controller, text] = stop.signal.aborted ? [abandon, words.abandoning] : [stop, words.stopping];
    process.stderr.write(`${text()}\n`);
    controller.abort();
  };
  for (const signal of signals) process.on(signal, onSignal);
  return {
    stop: stop.signal,
    abandon: abandon.signal,
    [Symbol.dispose]() {
      for (const signal of signals) process.off(signal, onSignal);
    },
  };
}
