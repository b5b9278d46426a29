/** Requests of a stream, each sent when it is put in. */
export interface Outbox<T> extends AsyncIterable<T> {
  put(message: T): void;
  /** Nothing follows: half-close. */
  end(): void;
}

/** An empty outbox, open. */
export function openOutbox<T>(): Outbox<T> {
  const waiting: T[] = [];
  let ended = false;
  let wake = (): void => undefined;
  return {
    put(message) {
      waiting.push(message);
      wake();
    },
    end() {
      ended = true;
      wake();
    },
    async *[Symbol.asyncIterator]() {
      while (true) {
        for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) yield next;
        if (ended) return;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}
