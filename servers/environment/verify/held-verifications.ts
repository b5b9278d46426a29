import type { VerifyResult } from "../../../gen/index.js";
import type { Slot } from "../../runtime/admission.js";
import type { Execution } from "../../runtime/execution.js";
import { cancelledFailure } from "../../runtime/failure.js";
import type { Operation } from "../../runtime/operation.js";
import { drainingRefusal } from "../../runtime/refusal.js";
import type { Runtime } from "../../runtime/runtime.js";
import { within } from "../../runtime/within.js";

interface Running {
  readonly execution: Execution<VerifyResult>;
  /** Releases its world and its place. */
  readonly free: () => Promise<void>;
  freed: Promise<void> | undefined;
}

/** Verifications without a session, as long as they hold or await a place: what drain waits for and ends (R18). */
export class HeldVerifications {
  readonly #waiting = new Set<Operation<VerifyResult>>();
  readonly #running = new Set<Running>();
  #drained = false;

  constructor(private readonly runtime: Pick<Runtime, "clock" | "limits">) {}

  /** How many there are. */
  get live(): number {
    return this.#waiting.size + this.#running.size;
  }

  /**
   * Waits with a verification for its place, and has it `enter` with that at once: a drain never comes between. Rejects with
   * the refusal of one that gets none, or DRAINING.
   */
  async wait(
    operation: Operation<VerifyResult>,
    entering: Promise<Slot>,
    enter: (slot: Slot) => void,
  ): Promise<void> {
    this.#waiting.add(operation);
    try {
      const slot = await entering;
      if (!this.#drained) return enter(slot);
      slot.release();
    } catch (refusal) {
      if (!this.#drained) throw refusal;
    } finally {
      this.#waiting.delete(operation);
    }
    throw drainingRefusal();
  }

  /** Takes in a verification that runs. It is freed once its work is quiet, however it ended, or a drain's grace is over. */
  add(execution: Execution<VerifyResult>, free: () => Promise<void>): void {
    const running: Running = { execution, free, freed: undefined };
    this.#running.add(running);
    void execution.quiet.then(() => this.#free(running));
  }

  /** Ends all, as the drain of sessions does (ALL-DRAIN-005). */
  async drain(): Promise<void> {
    this.#drained = true;
    for (const operation of this.#waiting) operation.withdraw();
    await Promise.all([...this.#running].map((running) => this.#end(running)));
  }

  async #end(running: Running): Promise<void> {
    const { execution } = running;
    execution.cancel(cancelledFailure("the server's drain ended the verification"));
    const { clock, limits } = this.runtime;
    const late = (): Error => new Error("the grace of the drain is over");
    await within(execution.quiet, { clock, ms: limits.closeGraceMs, late }).catch(() => {});
    await this.#free(running);
  }

  #free(running: Running): Promise<void> {
    running.freed ??= running.free().finally(() => this.#running.delete(running));
    return running.freed;
  }
}
