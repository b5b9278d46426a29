import { create } from "@bufbuild/protobuf";
import { type StepStreamResponse, StepStreamResponseSchema } from "../../../gen/index.js";
import type { Clock, Timer } from "../../runtime/clock.js";
import { heartbeatMs } from "../../runtime/event-log.js";

/** Unanswered frames that a stream takes before it stops reading; the contract asks for 16 at least. */
export const maxPipelinedSteps = 256;

/**
 * Answers that are ready to be written, for one reader, with heartbeats where none is due; and how many are still to
 * come. An iterator by hand and one timer a stream: generators and timers for each answer cost more than the steps.
 */
export class ReadyQueue implements AsyncIterableIterator<StepStreamResponse> {
  readonly #ready: StepStreamResponse[] = [];
  #pending = 0;
  #ended = false;
  /** The reader wants no more. */
  #left = false;
  /** Who waits for an answer. */
  #reader: ((result: IteratorResult<StepStreamResponse>) => void) | undefined;
  #makeRoom: (() => void) | undefined;
  /** Since when nothing was handed to the reader. */
  #silentSince: number;
  #timer: Timer | undefined;

  constructor(private readonly clock: Clock) {
    this.#silentSince = clock.now();
  }

  /** Frames that are not answered yet. */
  get pending(): number {
    return this.#pending + this.#ready.length;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** A frame is worked on; `answered` settles once its answer has been pushed, or will never be. */
  begin(answered: Promise<void>): void {
    this.#pending += 1;
    const over = (): void => {
      this.#pending -= 1;
      this.#makeRoom?.();
      this.#endReader();
    };
    void answered.then(over, over);
  }

  push(response: StepStreamResponse): void {
    if (this.#left) return;
    if (this.#reader === undefined) this.#ready.push(response);
    else this.#hand(this.#reader, { done: false, value: response });
  }

  /** No frame follows. */
  end(): void {
    this.#ended = true;
    this.#endReader();
  }

  /** Resolves when more frames may be read. */
  async room(): Promise<void> {
    while (this.pending >= maxPipelinedSteps && !this.#ended) {
      await new Promise<void>((resolve) => {
        this.#makeRoom = resolve;
      });
    }
  }

  next(): Promise<IteratorResult<StepStreamResponse>> {
    const value = this.#ready.shift();
    if (value !== undefined) {
      this.#makeRoom?.();
      this.#silentSince = this.clock.now();
      return Promise.resolve({ done: false, value });
    }
    return new Promise((resolve) => {
      this.#reader = resolve;
      this.#endReader();
      if (this.#reader !== undefined) this.#timer ??= this.#watch(heartbeatMs);
    });
  }

  /** The reader leaves. */
  return(): Promise<IteratorResult<StepStreamResponse>> {
    this.#ended = true;
    this.#left = true;
    this.#ready.length = 0;
    this.#makeRoom?.();
    this.#stop();
    return Promise.resolve({ done: true, value: undefined });
  }

  /** The reader leaves with an error. */
  async throw(error: unknown): Promise<IteratorResult<StepStreamResponse>> {
    await this.return();
    throw error;
  }

  #endReader(): void {
    if (this.#left || (this.#ended && this.pending === 0)) this.#stop();
  }

  #stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#reader !== undefined) this.#hand(this.#reader, { done: true, value: undefined });
  }

  #hand(
    reader: (result: IteratorResult<StepStreamResponse>) => void,
    result: IteratorResult<StepStreamResponse>,
  ): void {
    this.#reader = undefined;
    this.#silentSince = this.clock.now();
    reader(result);
  }

  /** Looks after so long whether the reader waits in silence; the next wait goes on looking. */
  #watch(ms: number): Timer {
    return this.clock.setTimer(ms, () => {
      this.#timer = undefined;
      if (this.#reader === undefined) return;
      const left = this.#silentSince + heartbeatMs - this.clock.now();
      if (left > 0) this.#timer = this.#watch(left);
      else this.push(create(StepStreamResponseSchema));
    });
  }
}
