/** A signal that aborts at SIGINT or SIGTERM; a second one ends the process at once. */
export function onInterrupt(): { readonly signal: AbortSignal; [Symbol.dispose](): void } {
  const controller = new AbortController();
  const stop = (): void => {
    if (controller.signal.aborted) process.exit(130);
    controller.abort();
  };
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      process.off("SIGINT", stop);
      process.off("SIGTERM", stop);
    },
  };
}
