import type { Lease } from "../../gen/index.js";
import type { Clock, Timer } from "../runtime/clock.js";
import { toMs } from "../runtime/duration.js";

/**
 * Renews what a driver opened at a third of the lease that its server echoed (E9). A renewal that fails is not told
 * here: the next operation on what was lost tells it.
 */
export class Renewals {
  readonly #timers = new Map<string, Timer>();

  constructor(private readonly clock: Clock) {}

  /** Keeps a lease alive until `stop`. */
  start(id: string, lease: Lease | undefined, renew: () => Promise<Lease | undefined>): void {
    if (lease?.duration === undefined) return;
    const third = toMs(lease.duration) / 3;
    this.#timers.set(
      id,
      this.clock.setTimer(third, () => {
        renew().then(
          (renewed) => this.#timers.has(id) && this.start(id, renewed ?? lease, renew),
          () => this.#timers.has(id) && this.start(id, lease, renew),
        );
      }),
    );
  }

  stop(id: string): void {
    this.#timers.get(id)?.cancel();
    this.#timers.delete(id);
  }

  stopAll(): void {
    for (const id of [...this.#timers.keys()]) this.stop(id);
  }
}
