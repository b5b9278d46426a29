import { Worker } from "node:worker_threads";
import type { WorkerAnswer } from "./worker-answer.js";
import { workerCode } from "./worker-code.js";

/** Lets a thread load TypeScript, as the process itself loads the modules of a configuration. */
const typescriptLoader = import.meta.resolve("tsx/esm/api");

interface Job {
  readonly id: number;
  readonly resolve: (answer: WorkerAnswer) => void;
  readonly reject: (error: unknown) => void;
}

/** A thread that does one job at a time; started when it is first needed, and again after it has ended. */
export class WorkerThread {
  #worker: Worker | undefined;
  #job: Job | undefined;
  #jobs = 0;

  constructor(private readonly module: URL) {}

  /** Does a job. Ends the thread, and rejects with the signal's reason, where nobody wants the result any more. */
  async run(work: unknown, signal: AbortSignal): Promise<WorkerAnswer> {
    signal.throwIfAborted();
    const worker = this.#start();
    this.#jobs += 1;
    const id = this.#jobs;
    const stop = (): void => {
      this.#fail(worker, signal.reason);
      void worker.terminate();
    };
    try {
      return await new Promise<WorkerAnswer>((resolve, reject) => {
        this.#job = { id, resolve, reject };
        signal.addEventListener("abort", stop, { once: true });
        worker.postMessage({ id, work });
      });
    } finally {
      signal.removeEventListener("abort", stop);
      this.#job = undefined;
    }
  }

  #start(): Worker {
    if (this.#worker !== undefined) return this.#worker;
    const worker = new Worker(workerCode, {
      eval: true,
      workerData: {
        module: this.module.href,
        typescript: /\.[cm]?tsx?$/.test(this.module.pathname) ? typescriptLoader : undefined,
      },
    });
    // A verifier that waits for its next job keeps no process alive.
    worker.unref();
    worker.on("message", ({ id, ...answer }: WorkerAnswer & { readonly id: number }) => {
      if (this.#job?.id === id) this.#job.resolve(answer);
    });
    worker.on("error", (error) => this.#fail(worker, error));
    worker.on("exit", (code) =>
      this.#fail(worker, new Error(`the verifier's thread ended with code ${code}`)),
    );
    this.#worker = worker;
    return worker;
  }

  /** Ends the job that runs in a thread; the next one gets a new thread. A thread that was left behind ends no job. */
  #fail(worker: Worker, error: unknown): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    this.#job?.reject(error);
  }
}
