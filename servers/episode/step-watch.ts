import type { EnvironmentClient } from "../../clients/index.js";
import type { StepRecord } from "../../gen/index.js";

/** What is told of the steps of a session. */
export interface StepWatchOptions {
  readonly onStep: (step: StepRecord) => void;
  /** Steps are missing, and why. */
  readonly onMissing: (why: string) => void;
}

/** Follows the steps of a session, whoever takes them, with the rewards that the environment gave (EPI-EVT-002). */
export class StepWatch {
  readonly #left = new AbortController();
  readonly #end: Promise<void>;

  constructor(client: EnvironmentClient, sessionId: string, options: StepWatchOptions) {
    this.#end = this.#follow(client, sessionId, options);
  }

  /** Resolves when all steps were told: the feed ends when its session does. Leaves when the signal aborts. */
  async end(signal: AbortSignal | undefined): Promise<void> {
    const leave = (): void => this.#left.abort();
    if (signal?.aborted) leave();
    else signal?.addEventListener("abort", leave, { once: true });
    await this.#end;
    signal?.removeEventListener("abort", leave);
  }

  async #follow(
    client: EnvironmentClient,
    sessionId: string,
    { onStep, onMissing }: StepWatchOptions,
  ): Promise<void> {
    try {
      for await (const { event } of client.watchSteps({ sessionId }, { signal: this.#left.signal })) {
        if (event.case === "step") onStep(event.value);
        else if (event.case === "gap")
          onMissing(`steps up to ${event.value.untilSequence} are no longer kept`);
      }
    } catch {
      onMissing("the environment's feed of steps could not be read to its end");
    }
  }
}
