/** A program to start. */
export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** What a load process does: steps sessions, opens and closes them, or holds them. */
export type Mode = "steps" | "create" | "idle";

/** One figure to take of a target. */
export interface Job {
  readonly target: Target;
  readonly mode: Mode;
  readonly sessions: number;
}

/** What is measured: ours, an echo or another system's stack. All speak the protocol of the peers. */
export interface Target {
  readonly name: string;
  readonly side: "ours" | "echo" | "peer";
  /** Prints {"address"} when it is ready; absent: the load holds everything. */
  readonly server: Command | undefined;
  /** Is given ADDRESS SESSIONS SECONDS MODE behind its own arguments. */
  readonly load: Command;
  /** Its one process uses both cores. */
  readonly unpinned?: boolean;
  /** The server answers "memory", garbage collected, where it runs with --expose-gc. */
  readonly tellsMemory?: boolean;
}
