import type { Connection } from "../subject/connection.js";

/** The process that a check of the lane `process` has for itself; the check's connections go to it. */
export interface OwnProcess {
  /** What it wrote to stdout and stderr so far, cut to the newest. */
  readonly output: string;
  /** Signals its whole process group. */
  signal(name: NodeJS.Signals): void;
  /** Resolves once no process of its group is left. */
  readonly gone: Promise<void>;
  /** Kills it (SIGKILL) and starts it again; connections that are opened from then on go to the new one. */
  restart(): Promise<void>;
  /** Starts one more from the same command, and opens a connection to it. */
  another(): Promise<Connection>;
}
