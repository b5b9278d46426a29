import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { z } from "zod";

/** A subject that the runner starts itself, in a process group of its own. */
export interface ProcessSubject extends AsyncDisposable {
  /** Where it listens. */
  readonly url: string;
  readonly pid: number;
  /** What it wrote to stdout and stderr so far, cut to the newest. */
  readonly output: string;
  /** Resolves with the exit code once it has ended; null: by a signal. */
  readonly ended: Promise<number | null>;
  /** Signals its whole group. */
  signal(name: NodeJS.Signals): void;
  /** A process of its group lives, itself or a child that it left. */
  groupLives(): boolean;
}

/** It did not come up, and what it said. */
export class StartError extends Error {
  override readonly name = "StartError";
}

const startSeconds = 30;
/** Stdin's end asks a subject to stop, SIGTERM insists, SIGKILL after this ends it. */
const stopSeconds = 5;
const outputKept = 256 * 1024;

const announcement = z.object({ address: z.string().regex(/^\S+:\d+$/) });

/**
 * Starts `command` by a shell. It must print one line `{"address":"host:port"}` on stdout once it serves; other lines are
 * its own. Throws StartError.
 */
export async function startSubject(
  command: string,
  { env = {} }: { env?: Readonly<Record<string, string>> } = {},
): Promise<ProcessSubject> {
  // The shell outlives a signal to the group, as it holds the subject's stdin: its end would be that of the subject.
  const child = spawn(`trap : TERM INT\n${command}`, {
    shell: true,
    detached: true,
    stdio: ["pipe", "pipe", "pipe"],
    env: { ...process.env, ...env },
  });
  let output = "";
  const keep = (line: string): void => {
    output = `${output}${line}\n`.slice(-outputKept);
  };
  const ended = new Promise<number | null>((resolve) => {
    child.once("exit", (code) => resolve(code));
    child.once("error", () => resolve(null));
  });
  createInterface({ input: child.stderr }).on("line", keep);
  // A subject that has ended takes no more input.
  child.stdin.on("error", () => undefined);
  const lines = createInterface({ input: child.stdout });
  const address = new Promise<string>((resolve) => {
    lines.on("line", (line) => {
      keep(line);
      const told = announcement.safeParse(jsonOf(line));
      if (told.success) resolve(told.data.address);
    });
  });
  const late = new Promise<never>((_resolve, reject) => {
    const timer = setTimeout(
      () => reject(startError(command, `said no address within ${startSeconds} s`, output)),
      startSeconds * 1_000,
    );
    timer.unref();
    void ended.then((code) =>
      reject(startError(command, `ended (${code ?? "by a signal"}) before it served`, output)),
    );
  });
  late.catch(() => undefined);
  try {
    const where = await Promise.race([address, late]);
    return subjectOf(child, { url: `http://${where}`, ended, output: () => output });
  } catch (error) {
    killGroup(child, "SIGKILL");
    throw error;
  }
}

function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function startError(command: string, what: string, output: string): StartError {
  const said = output === "" ? "It said nothing." : `It said:\n${output.slice(-2_000)}`;
  return new StartError(
    `\`${command}\` ${what}; a subject prints one line {"address":"host:port"} on stdout. ${said}`,
  );
}

function killGroup(child: ChildProcess, name: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, name);
  } catch {
    // The group has ended.
  }
}

function groupLives({ pid }: ChildProcess): boolean {
  if (pid === undefined) return false;
  try {
    process.kill(-pid, 0);
    return true;
  } catch {
    return false;
  }
}

function subjectOf(
  child: ChildProcess,
  { url, ended, output }: { url: string; ended: Promise<number | null>; output: () => string },
): ProcessSubject {
  const within = async (seconds: number): Promise<boolean> => {
    const timeout = new AbortController();
    const late = new Promise<false>((resolve) => {
      const timer = setTimeout(() => resolve(false), seconds * 1_000);
      timeout.signal.addEventListener("abort", () => clearTimeout(timer));
    });
    const done = await Promise.race([ended.then(() => true), late]);
    timeout.abort();
    return done;
  };
  return {
    url,
    pid: child.pid ?? 0,
    get output() {
      return output();
    },
    ended,
    signal: (name) => killGroup(child, name),
    groupLives: () => groupLives(child),
    async [Symbol.asyncDispose]() {
      child.stdin?.end();
      if (!(await within(1))) killGroup(child, "SIGTERM");
      if (!(await within(stopSeconds))) killGroup(child, "SIGKILL");
      // Children that it left behind are of its group.
      killGroup(child, "SIGKILL");
      await ended;
    },
  };
}
