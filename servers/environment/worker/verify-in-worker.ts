import { FailureKind, Retry } from "../../../gen/index.js";
import { OperationFailure } from "../../runtime/failure.js";
import type { Measured, Work } from "../definition/verifying.js";
import type { WorkerAnswer } from "./worker-answer.js";
import { WorkerThread } from "./worker-thread.js";

/** How a verifier is run in threads. */
export interface WorkerOptions {
  /** Threads, and with them verifications at a time; further ones wait. Absent: 1. */
  readonly threads?: number;
}

/** Work as a thread gets it: a copy, without a signal; a thread whose result nobody wants is ended. */
export type WorkerWork<Data, State> = Omit<Work<Data, State>, "signal">;

/**
 * A `verify` for defineEnvironment that burns CPU in a thread of its own, so that other sessions and health stay quick
 * meanwhile. The module's default export is the verifier: `(work) => Measured`, at once or later; data and state reach it as
 * structured clones, so they hold no functions. A verification that passes its timeout ends its thread.
 *
 * @example verify: verifyInWorker(new URL("./prove.js", import.meta.url))
 */
export function verifyInWorker<Data, State>(
  module: URL,
  { threads = 1 }: WorkerOptions = {},
): (work: Work<Data, State>) => Promise<Measured> {
  if (!Number.isInteger(threads) || threads < 1) {
    throw new Error(`threads: expected a whole number from 1 on, found ${threads}`);
  }
  const idle: WorkerThread[] = Array.from({ length: threads }, () => new WorkerThread(module));
  const waiting: ((thread: WorkerThread) => void)[] = [];

  async function take(signal: AbortSignal): Promise<WorkerThread> {
    const free = idle.pop();
    if (free !== undefined) return free;
    return await new Promise((resolve, reject) => {
      const enter = (thread: WorkerThread): void => {
        signal.removeEventListener("abort", leave);
        resolve(thread);
      };
      const leave = (): void => {
        waiting.splice(waiting.indexOf(enter), 1);
        reject(signal.reason);
      };
      waiting.push(enter);
      signal.addEventListener("abort", leave, { once: true });
    });
  }

  function give(thread: WorkerThread): void {
    const next = waiting.shift();
    if (next === undefined) idle.push(thread);
    else next(thread);
  }

  return async ({ signal, ...work }) => {
    const thread = await take(signal);
    try {
      return measuredOf(await thread.run(work, signal));
    } finally {
      give(thread);
    }
  };
}

function measuredOf(answer: WorkerAnswer): Measured {
  if ("measured" in answer) return answer.measured;
  const { text, failure } = answer.error;
  if (failure !== undefined) throw new OperationFailure(failure);
  // What an author's code threw goes to the log and nowhere else.
  const reason = "the verifier broke; the server's log has the error";
  throw new OperationFailure(
    { kind: FailureKind.VERIFIER_FAILED, retry: Retry.NEVER, reason },
    { cause: new Error(text) },
  );
}
