import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Job, JobDone } from "./job.js";

/** How jobs are spread. */
export interface WorkersOptions {
  /** Processes. */
  readonly workers: number;
  /** Jobs that a process has at once: most of them wait most of the time. */
  readonly width: number;
  readonly onDone: (done: JobDone) => void;
}

/** Runs jobs in processes of their own. A process that dies takes its jobs with it: they are told as broken. */
export async function runJobs(
  jobs: readonly Job[],
  { workers, width, onDone }: WorkersOptions,
): Promise<void> {
  const queue = [...jobs];
  await Promise.all(Array.from({ length: workers }, () => work(queue, width, onDone)));
}

function work(queue: Job[], width: number, onDone: (done: JobDone) => void): Promise<void> {
  return new Promise((resolve) => {
    const child: ChildProcess = fork(fileURLToPath(new URL("worker.ts", import.meta.url)), {
      execArgv: ["--import", "tsx"],
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    const running = new Set<string>();
    const more = (): void => {
      while (running.size < width) {
        const job = queue.shift();
        if (job === undefined) break;
        running.add(job.id);
        child.send(job);
      }
      if (running.size === 0 && child.connected) child.disconnect();
    };
    child.on("message", (done: JobDone) => {
      running.delete(done.id);
      onDone(done);
      more();
    });
    child.once("exit", (code) => {
      for (const id of running) onDone({ id, run: undefined, broke: `its worker ended (${code})` });
      resolve();
    });
    more();
  });
}
