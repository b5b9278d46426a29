import type { Clock } from "./clock.js";
import { Refusal } from "./refusal.js";

/** A place among those that a server holds at once. */
export interface Slot {
  /** Gives the place to the next; harmless the second time. */
  release(): void;
}

/** Who may come in (R12). A seam: tests and other schedulers put their own in its place. */
export interface Admission {
  /**
   * A place, at once or after a wait in the queue. Throws the refusals CAPACITY (full and no queue) and
   * ADMISSION_TIMEOUT (the wait was too long), both with RetryInfo; `leave` takes the caller out of the queue. A caller
   * may bound its wait more tightly than the server does.
   */
  enter(leave: () => AbortSignal, queueTimeoutMs?: number): Slot | Promise<Slot>;
}

/** Bounds of an admission. */
export interface AdmissionOptions {
  readonly clock: Clock;
  /** Places held at once; undefined: no cap. */
  readonly max?: number | undefined;
  /** Longest wait for a place in milliseconds; 0: no queue. */
  readonly queueTimeoutMs: number;
}

interface Waiting {
  enter(slot: Slot): void;
}

/** Admission of at most `max` at once, first come, first served. */
export function createAdmission(options: AdmissionOptions): Admission {
  let held = 0;
  const queue = new Set<Waiting>();

  function slot(): Slot {
    let released = false;
    return {
      release() {
        if (released) return;
        released = true;
        const [next] = queue;
        if (next === undefined) held -= 1;
        else {
          queue.delete(next);
          next.enter(slot());
        }
      },
    };
  }

  function wait(max: number, leave: AbortSignal, queueTimeoutMs: number): Promise<Slot> {
    return new Promise((resolve, reject) => {
      const stop = (refusal: unknown): void => {
        queue.delete(waiting);
        timer.cancel();
        leave.removeEventListener("abort", onLeave);
        reject(refusal);
      };
      const onLeave = (): void => stop(callerLeft());
      const timer = options.clock.setTimer(queueTimeoutMs, () =>
        stop(
          new Refusal(
            "ADMISSION_TIMEOUT",
            `all ${max} places were taken for ${queueTimeoutMs} ms; nothing was started, try again later`,
            { metadata: { limit: String(max) } },
          ),
        ),
      );
      const waiting: Waiting = {
        enter(slot) {
          timer.cancel();
          leave.removeEventListener("abort", onLeave);
          resolve(slot);
        },
      };
      queue.add(waiting);
      leave.addEventListener("abort", onLeave, { once: true });
    });
  }

  return {
    enter(leave, asked = options.queueTimeoutMs) {
      if (options.max === undefined || held < options.max) {
        held += 1;
        return slot();
      }
      const queueTimeoutMs = Math.min(asked, options.queueTimeoutMs);
      if (queueTimeoutMs <= 0) {
        throw new Refusal(
          "CAPACITY",
          `all ${options.max} places are taken; nothing was started, try again later`,
          {
            metadata: { limit: String(options.max) },
          },
        );
      }
      return wait(options.max, leave(), queueTimeoutMs);
    },
  };
}

/** The refusal of what is taken back because nobody waits for its place any more (ALL-ADM-003). */
export function callerLeft(): Refusal {
  return new Refusal("CAPACITY", "withdrawn: the caller left while it waited for a place");
}
