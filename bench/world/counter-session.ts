import type { EnvironmentClient } from "../../clients/index.js";
import { ClosedBy } from "../../gen/index.js";
import { newId } from "../../servers/runtime/identity.js";
import { observationText } from "./counter.js";

/** One session of the counter on a server of ours: seeded, stepped by whoever holds it, closed. */
export class CounterSession {
  /** Its id; another one after each seed, as a session is never begun twice. */
  id = "";
  /** Index of the next step. */
  index = 0;
  #open = false;

  constructor(readonly client: EnvironmentClient) {}

  /** @throws Error - The seed's answer is not the one that was due. */
  async seed(): Promise<void> {
    this.id = newId("b");
    this.index = 0;
    const { session } = await this.client.seed({
      sessionId: this.id,
      context: { episodeId: { rolloutId: this.id } },
      source: { case: "task", value: { taskId: { id: "count" }, environment: "counter" } },
      seed: 1n,
    });
    const block = session?.agents[0]?.observation?.content[0]?.kind;
    if (session?.sessionId !== this.id || block?.case !== "text" || block.value !== observationText(0)) {
      throw new Error(`expected session ${this.id} at "${observationText(0)}", found ${session?.sessionId}`);
    }
    this.#open = true;
  }

  /** @throws Error - The receipt does not tell of a whole end by us, or of other steps than were taken. */
  async close(): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    const { receipt, steps } = await this.client.close({
      sessionId: this.id,
      episodeId: { rolloutId: this.id },
    });
    if (receipt?.closedBy !== ClosedBy.CALLER || !receipt.cleanupConfirmed || steps !== this.index) {
      throw new Error(
        `expected a confirmed end by its caller after ${this.index} steps, found ` +
          `closed_by ${receipt?.closedBy}, confirmed ${receipt?.cleanupConfirmed}, ${steps} steps`,
      );
    }
  }
}
