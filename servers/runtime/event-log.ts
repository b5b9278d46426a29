import type { Clock } from "./clock.js";

/** An event of a streamed operation: recorded ones carry a sequence from 1, others 0 (ALL-EVT-001, ALL-EVT-002). */
export interface SequencedEvent {
  sequence: bigint;
}

/** Bytes of events that a log keeps at least (R14, ALL-KEEP-003). */
export const keptEventBytes = 1 << 20;
/** Deltas that wait for one reader; a slower reader loses the oldest, the item itself still comes (ALL-EVT-007). */
const pendingDeltas = 256;
/** Longest silence of a stream; the contract allows 15 s (ALL-ALIVE-002). */
export const heartbeatMs = 10_000;
/** A stream's first message comes within 1 s (ALL-ALIVE-001). */
export const firstMessageMs = 700;

/** How a log is kept. */
export interface EventLogOptions {
  /** How much is kept at least, as `sizeOf` measures it; absent: `keptEventBytes`. */
  readonly kept?: number;
  /** Sequence behind which the log begins, where it goes on with another's count; absent: 0. */
  readonly last?: bigint;
}

interface Reader<E> {
  deltas: E[];
  wake(): void;
}

/**
 * The events of one streamed operation (R17): numbered from 1 without gaps, the last one terminal. Readers come and go
 * and read at their own pace; none stalls the operation. Old events go once newer ones fill what is kept.
 */
export class EventLog<E extends SequencedEvent> {
  #events: { readonly event: E; readonly bytes: number }[] = [];
  #bytes = 0;
  /** Sequence of the first event that is kept. */
  #first: bigint;
  #ended = false;
  #error: unknown;
  readonly #readers = new Set<Reader<E>>();
  readonly #keptBytes: number;

  constructor(
    private readonly sizeOf: (event: E) => number,
    { kept = keptEventBytes, last = 0n }: EventLogOptions = {},
  ) {
    this.#keptBytes = kept;
    this.#first = last + 1n;
  }

  /** Number of readers that follow now. */
  get readers(): number {
    return this.#readers.size;
  }

  /** Sequence of the newest event; 0 before the first. */
  get last(): bigint {
    return this.#first + BigInt(this.#events.length) - 1n;
  }

  /** The events that are kept, oldest first. */
  get kept(): readonly E[] {
    return this.#events.map(({ event }) => event);
  }

  /** Records an event under the next sequence. */
  append(event: E): void {
    event.sequence = this.last + 1n;
    const bytes = this.sizeOf(event);
    this.#events.push({ event, bytes });
    this.#bytes += bytes;
    while (this.#events.length > 1 && this.#bytes - (this.#events[0]?.bytes ?? 0) >= this.#keptBytes) {
      this.#bytes -= this.#events.shift()?.bytes ?? 0;
      this.#first += 1n;
    }
    this.#wakeAll();
  }

  /** Shows an event to whoever reads now; it is not kept (ALL-EVT-002). */
  show(event: E): void {
    event.sequence = 0n;
    for (const reader of this.#readers) {
      reader.deltas.push(event);
      if (reader.deltas.length > pendingDeltas) reader.deltas.shift();
      reader.wake();
    }
  }

  /** Records the terminal event (ALL-EVT-003). */
  end(terminal: E): void {
    this.append(terminal);
    this.#ended = true;
    this.#wakeAll();
  }

  /** Ends a log that has no terminal event: its readers get what is left and end, with an error where there is one. */
  close(error?: unknown): void {
    if (this.#ended) return;
    this.#error = error;
    this.#ended = true;
    this.#wakeAll();
  }

  /** Drops all but the terminal event. */
  shrink(): void {
    this.#first = this.last;
    this.#events = this.#events.slice(-1);
    this.#bytes = this.#events[0]?.bytes ?? 0;
  }

  /**
   * Follows the log behind a sequence (ALL-EVT-005) up to its terminal event, with heartbeats where nothing is due and
   * a gap where events are no longer kept (ALL-EVT-006). Ends silently when the reader leaves.
   */
  async *follow(options: FollowOptions<E>): AsyncGenerator<E, void, undefined> {
    let next = options.afterSequence + 1n;
    let wake: () => void = () => {};
    const reader: Reader<E> = { deltas: [], wake: () => wake() };
    this.#readers.add(reader);
    const leave = (): void => wake();
    options.signal.addEventListener("abort", leave, { once: true });
    let silence = firstMessageMs;
    try {
      while (!options.signal.aborted) {
        if (next < this.#first && this.#events.length > 0) {
          const gap = options.gap?.(this.#first - 1n);
          next = this.#first;
          if (gap !== undefined) yield gap;
        }
        const entry = this.#events[Number(next - this.#first)];
        const delta = entry === undefined ? reader.deltas.shift() : undefined;
        const due = entry?.event ?? delta;
        if (due !== undefined) {
          if (entry !== undefined) {
            next += 1n;
            // Pieces of what the reader now gets whole are of no use to it any more.
            reader.deltas = [];
          }
          silence = heartbeatMs;
          yield due;
          continue;
        }
        if (this.#error !== undefined) throw this.#error;
        if (this.#ended) return;
        let silent = false;
        await new Promise<void>((resolve) => {
          wake = resolve;
          const timer = options.clock.setTimer(silence, () => {
            silent = true;
            resolve();
          });
          wake = () => {
            timer.cancel();
            resolve();
          };
        });
        if (silent) {
          silence = heartbeatMs;
          yield options.heartbeat();
        }
      }
    } finally {
      this.#readers.delete(reader);
      options.signal.removeEventListener("abort", leave);
      options.onLeave?.();
    }
  }

  #wakeAll(): void {
    for (const reader of this.#readers) reader.wake();
  }
}

/** How a reader follows a log. */
export interface FollowOptions<E> {
  /** Begin behind this event; 0: from the start. */
  readonly afterSequence: bigint;
  /** Aborts when the reader leaves. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  heartbeat(): E;
  /** Absent for logs that never grow above what is kept. */
  readonly gap?: (untilSequence: bigint) => E;
  /** Told when the reader has left, however it did. */
  readonly onLeave?: () => void;
}
