import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { OwnProcess } from "../check/own-process.js";
import type { Connection } from "../subject/connection.js";
import { type ProcessSubject, startSubject } from "../subject/process-subject.js";

/** Environment variable that names a folder for a process's records: its own, kept over its restarts. */
export const stateFolderVariable = "TOUCHSTONE_STATE_DIR";

/** A process of a check, and where it is now. */
export interface HeldProcess extends AsyncDisposable {
  readonly own: OwnProcess;
  readonly url: string;
}

/** Milliseconds between looks at whether a process group is empty. */
const lookMs = 20;

/** Starts `command` for one check. `connect` opens a connection to a url. Throws StartError. */
export async function holdProcess(
  command: string,
  {
    connect,
    env,
  }: { readonly connect: (url: string) => Connection; readonly env: Readonly<Record<string, string>> },
): Promise<HeldProcess> {
  const folders: string[] = [];
  const begun: ProcessSubject[] = [];
  const folder = (): string => {
    const made = mkdtempSync(join(tmpdir(), "touchstone-conformance-"));
    folders.push(made);
    return made;
  };
  const start = async (state: string): Promise<ProcessSubject> => {
    const subject = await startSubject(command, { env: { ...env, [stateFolderVariable]: state } });
    begun.push(subject);
    return subject;
  };
  const state = folder();
  let current = await start(state);
  return {
    get url() {
      return current.url;
    },
    own: {
      get output() {
        return current.output;
      },
      signal: (name) => current.signal(name),
      get gone() {
        return groupGone(current);
      },
      async restart() {
        current.signal("SIGKILL");
        await groupGone(current);
        current = await start(state);
      },
      async another() {
        return connect((await start(folder())).url);
      },
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(begun.map((subject) => subject[Symbol.asyncDispose]()));
      for (const made of folders) rmSync(made, { recursive: true, force: true });
    },
  };
}

async function groupGone(subject: ProcessSubject): Promise<void> {
  await subject.ended;
  while (subject.groupLives()) await new Promise((resolve) => setTimeout(resolve, lookMs));
}
