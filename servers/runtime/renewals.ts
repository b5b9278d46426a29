import { type Boundary, FailureKind, type Lease } from "../../gen/index.js";
import type { Clock, Timer } from "./clock.js";
import { toMs } from "./duration.js";
import { OperationFailure } from "./failure.js";
import { failureOf } from "./peer-failure.js";

/** Something whose lease is kept alive. */
export interface Renewed {
  readonly id: string;
  readonly boundary: Boundary;
  /** The lease as its server echoed it (EPI-E9-003). */
  readonly lease: Lease | undefined;
  readonly renew: (signal: AbortSignal) => Promise<Lease | undefined>;
  /** Told once where it is gone: what was opened is lost. */
  readonly onLost: (failure: OperationFailure) => void;
}

/** Shortest time between renewals in milliseconds, whatever lease a server echoes. */
const shortestMs = 100;

/**
 * Renews what was opened elsewhere at a third of the lease that its server echoed (E9). A renewal that fails for the moment
 * is made again a third later; one that says that its session is gone is told (EPI-E6-009, EPI-E6-010).
 */
export class Renewals {
  readonly #running = new Map<string, AbortController>();

  constructor(private readonly clock: Clock) {}

  /** Keeps a lease alive until `stop`. */
  start(renewed: Renewed): void {
    if (renewed.lease?.duration === undefined) return;
    const stopped = new AbortController();
    this.#running.set(renewed.id, stopped);
    this.#arm(renewed, toMs(renewed.lease.duration), stopped.signal);
  }

  stop(id: string): void {
    this.#running.get(id)?.abort();
    this.#running.delete(id);
  }

  stopAll(): void {
    for (const id of [...this.#running.keys()]) this.stop(id);
  }

  #arm(renewed: Renewed, leaseMs: number, stopped: AbortSignal): void {
    const third = Math.max(leaseMs / 3, shortestMs);
    const timer = this.clock.setTimer(third, () => {
      stopped.removeEventListener("abort", cancel);
      this.#renew(renewed, third, stopped).then(
        (lease) => this.#again(renewed, lease ?? leaseMs, stopped),
        (error: unknown) => this.#failed(renewed, { error, leaseMs, stopped }),
      );
    });
    const cancel = (): void => timer.cancel();
    stopped.addEventListener("abort", cancel, { once: true });
  }

  /** One renewal, cut when the next one is due. Answers the lease that holds from now on, in milliseconds. */
  async #renew({ renew }: Renewed, withinMs: number, stopped: AbortSignal): Promise<number | undefined> {
    const late = new AbortController();
    const timer: Timer = this.clock.setTimer(withinMs, () => late.abort());
    try {
      const lease = await renew(AbortSignal.any([stopped, late.signal]));
      return lease?.duration === undefined ? undefined : toMs(lease.duration);
    } finally {
      timer.cancel();
    }
  }

  #again(renewed: Renewed, leaseMs: number, stopped: AbortSignal): void {
    if (!stopped.aborted) this.#arm(renewed, leaseMs, stopped);
  }

  #failed(
    renewed: Renewed,
    { error, leaseMs, stopped }: { error: unknown; leaseMs: number; stopped: AbortSignal },
  ): void {
    if (stopped.aborted) return;
    const failure = failureOf(error, { boundary: renewed.boundary, lost: FailureKind.UNAVAILABLE });
    if (failure instanceof OperationFailure && failure.failure.kind === FailureKind.SESSION_LOST) {
      this.stop(renewed.id);
      renewed.onLost(failure);
      return;
    }
    this.#again(renewed, leaseMs, stopped);
  }
}
