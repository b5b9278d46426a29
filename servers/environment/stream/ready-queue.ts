import { create } from "@bufbuild/protobuf";
import { type StepStreamResponse, StepStreamResponseSchema } from "../../../gen/index.js";
import type { Clock } from "../../runtime/clock.js";
import { heartbeatMs } from "../../runtime/event-log.js";

/** Unanswered frames that a stream takes before it stops reading; the contract asks for 16 at least. */
export const maxPipelinedSteps = 256;

/** Answers that are ready to be written, and how many are still to come. */
export class ReadyQueue {
  readonly #ready: StepStreamResponse[] = [];
  #pending = 0;
  #ended = false;
  #wake: () => void = () => {};
  #makeRoom: () => void = () => {};

  constructor(private readonly clock: Clock) {}

  /** Frames that are not answered yet. */
  get pending(): number {
    return this.#pending + this.#ready.length;
  }

  /** A frame is worked on; `answered` resolves once its answer has been pushed. */
  begin(answered: Promise<void>): void {
    this.#pending += 1;
    void answered.finally(() => {
      this.#pending -= 1;
      this.#wake();
    });
  }

  push(response: StepStreamResponse): void {
    this.#ready.push(response);
    this.#wake();
  }

  /** No frame follows. */
  end(): void {
    this.#ended = true;
    this.#wake();
  }

  /** Resolves when more frames may be read. */
  async room(): Promise<void> {
    while (this.pending >= maxPipelinedSteps && !this.#ended) {
      await new Promise<void>((resolve) => {
        this.#makeRoom = resolve;
      });
    }
  }

  /** The answers, with heartbeats where none is due. */
  async *drain(): AsyncGenerator<StepStreamResponse, void, undefined> {
    try {
      for (;;) {
        const next = this.#ready.shift();
        if (next !== undefined) {
          this.#makeRoom();
          yield next;
        } else if (this.#ended && this.#pending === 0) {
          return;
        } else if (!(await this.#woken())) {
          yield create(StepStreamResponseSchema);
        }
      }
    } finally {
      this.#ended = true;
      this.#makeRoom();
    }
  }

  /** Whether something has come before the silence was too long. */
  #woken(): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = this.clock.setTimer(heartbeatMs, () => resolve(false));
      this.#wake = () => {
        timer.cancel();
        resolve(true);
      };
    });
  }
}
