import type { DescMethod } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { Delivery } from "../gen/index.js";
import { type CallError, callError } from "./call-error.js";
import { lostEnd } from "./channel/call-end.js";
import { type CallOptions, NO_INFO } from "./channel.js";
import { IdleWatchdog } from "./idle-watchdog.js";
import { pauseOrThrow, RepeatBudget, type RepeatScope } from "./repeat.js";
import { rpcKind } from "./rpc-kind.js";

/** Where an event stands in its stream. */
export interface EventReader<E, T> {
  /** From 1 for recorded events, 0 for deltas, heartbeats and gaps (ALL-EVT-001, ALL-EVT-002). */
  sequence(event: E): bigint;
  /** The last sequence that is gone, where the event is a gap. */
  gap(event: E): bigint | undefined;
  /** What the event ends the stream with; undefined for all but the terminal one. */
  terminal(event: E): T | undefined;
}

/** What is followed, and how. */
export interface FollowOptions<E, T> {
  readonly method: DescMethod;
  /** URL of the endpoint, for messages. */
  readonly target: string;
  readonly reader: EventReader<E, T>;
  /** The stream behind an event, by one attempt. `signal` and `timeoutMs` must end it. */
  open(afterSequence: bigint, options: CallOptions): AsyncIterable<E>;
  /** Begin behind this event; 0: from the start. */
  readonly afterSequence: bigint;
  /** The stream is read to its clean end; it has no terminal event. */
  readonly endsByItself: boolean;
  /** Silence, in milliseconds, after which a connection is taken as lost. */
  readonly idleMs: number;
  readonly scope: RepeatScope;
}

/** Events that are followed over lost connections, to be read once. Nothing is sent before they are first read. */
export interface EventStream<E> extends AsyncIterable<E> {
  /** Sequence of the last recorded event that was read; `after_sequence` of whoever goes on elsewhere. */
  readonly lastSequence: bigint;
}

/** The events of an operation, to be read by a loop or by {@link result}. */
export interface OperationStream<E, T> extends EventStream<E> {
  /**
   * Reads on to the end and answers with the terminal event.
   *
   * @throws CallError - The operation was refused, failed as a status, or was lost beyond the policy.
   */
  result(): Promise<T>;
}

/** A heartbeat comes every 15 s or less (ALL-ALIVE-002); two of them may be late. */
export const DEFAULT_IDLE_MS = 40_000;

/** Time that a peer has for the end of its stream once the terminal event has come. */
const END_MS = 1_000;

/**
 * Follows a streamed operation to its terminal event. A connection that is lost, falls silent or ends without that
 * event is resumed behind the last recorded event (ALL-EVT-008), as often as the policy allows; recorded events are
 * told once and in order, deltas, heartbeats and gaps as they come.
 */
export function followOperation<E, T>(options: FollowOptions<E, T>): OperationStream<E, T> {
  return new FollowedStream(options);
}

class FollowedStream<E, T> implements OperationStream<E, T>, AsyncIterator<E, undefined> {
  lastSequence: bigint;
  readonly #options: FollowOptions<E, T>;
  readonly #left = new AbortController();
  readonly #signal: AbortSignal;
  readonly #events: AsyncGenerator<E, undefined>;
  #terminal: { readonly value: T } | undefined;

  constructor(options: FollowOptions<E, T>) {
    this.#options = options;
    this.lastSequence = options.afterSequence;
    const { signal } = options.scope;
    this.#signal = signal === undefined ? this.#left.signal : AbortSignal.any([signal, this.#left.signal]);
    this.#events = this.#follow();
  }

  [Symbol.asyncIterator](): AsyncIterator<E, undefined> {
    return this;
  }

  next(): Promise<IteratorResult<E, undefined>> {
    return this.#events.next();
  }

  /** The reader has had enough. The operation goes on without it (ALL-LOST-002). */
  async return(): Promise<IteratorResult<E, undefined>> {
    // A generator that waits for an event takes no return before it came: the signal ends the wait.
    this.#left.abort();
    await this.#events.return(undefined).catch(() => {});
    return { done: true, value: undefined };
  }

  async result(): Promise<T> {
    for (;;) {
      if (this.#terminal !== undefined) return this.#terminal.value;
      const next = await this.next();
      if (next.done === true && this.#terminal === undefined) {
        throw this.#lost(
          "expected the stream's terminal event, found that its reader had left before",
          false,
        );
      }
    }
  }

  async *#follow(): AsyncGenerator<E, undefined> {
    const { method, scope } = this.#options;
    const budget = new RepeatBudget(rpcKind(method), scope);
    for (;;) {
      const beganAt = scope.clock.now();
      const before = this.lastSequence;
      let lost: unknown;
      try {
        return yield* this.#attempt();
      } catch (error) {
        lost = error;
      }
      budget.connectionEnded({ beganAt, achieved: this.lastSequence > before });
      await pauseOrThrow(lost, budget, { ...scope, signal: this.#signal });
    }
  }

  /** Reads one connection's stream to the end; throws where it is lost. */
  async *#attempt(): AsyncGenerator<E, undefined> {
    const { open, reader, scope, idleMs, endsByItself } = this.#options;
    const idle = new AbortController();
    const watchdog = new IdleWatchdog(scope.clock, idleMs, () => idle.abort());
    const { deadlineAt } = scope;
    const events = open(this.lastSequence, {
      signal: AbortSignal.any([this.#signal, idle.signal]),
      ...(deadlineAt === undefined ? {} : { timeoutMs: deadlineAt - scope.clock.now() }),
    })[Symbol.asyncIterator]();
    let heard = false;
    let ended = false;
    try {
      for (;;) {
        watchdog.wait();
        const next = await events.next();
        watchdog.rest();
        if (next.done === true) {
          ended = true;
          if (endsByItself) return undefined;
          throw this.#lost("expected the stream's terminal event, found its end", heard);
        }
        heard = true;
        const event = next.value;
        if (!this.#advance(event)) continue;
        const terminal = reader.terminal(event);
        if (terminal !== undefined) {
          this.#terminal = { value: terminal };
          ended = true;
          // Whoever takes the result reads no further: nothing must be left that keeps the process alive.
          watchdog.stop();
          this.#takeEnd(events);
        }
        yield event;
        if (terminal !== undefined) return undefined;
      }
    } catch (error) {
      if (!idle.signal.aborted) throw error;
      throw this.#lost(`nothing came for ${idleMs} ms: the connection is taken as lost`, heard);
    } finally {
      watchdog.stop();
      if (!ended) await events.return?.();
    }
  }

  /**
   * Moves behind an event. Tells whether it is new.
   *
   * @throws CallError - Events are missing before it.
   */
  #advance(event: E): boolean {
    const { reader, endsByItself } = this.#options;
    const gap = reader.gap(event);
    if (gap !== undefined) {
      if (gap > this.lastSequence) this.lastSequence = gap;
      return true;
    }
    const sequence = reader.sequence(event);
    if (sequence === 0n) return true;
    if (sequence <= this.lastSequence) return false;
    // Records that are read to their end may have holes; events rise by one (ALL-EVT-001).
    if (sequence !== this.lastSequence + 1n && !endsByItself) {
      throw this.#lost(`expected event ${this.lastSequence + 1n}, found ${sequence}`, true);
    }
    this.lastSequence = sequence;
    return true;
  }

  /** Lets the peer end its stream by itself behind the terminal event, so that it sees no reader that left. */
  #takeEnd(events: AsyncIterator<E>): void {
    const leave = (): void => void events.return?.();
    const timer = this.#options.scope.clock.setTimer(END_MS, leave);
    events.next().then(
      ({ done }) => {
        timer.cancel();
        if (done !== true) leave();
      },
      () => timer.cancel(),
    );
  }

  #lost(message: string, heard: boolean): CallError {
    const { method, target } = this.#options;
    const end = lostEnd(Code.Unavailable, message);
    return callError(
      { method, target, info: NO_INFO },
      heard ? { ...end, delivery: Delivery.DELIVERED } : end,
    );
  }
}
