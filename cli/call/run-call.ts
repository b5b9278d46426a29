import { CallError, type Channel } from "../../clients/index.js";
import { ConfigError } from "../../servers/composition/config-error.js";
import { exitCodes } from "../exit-codes.js";
import { errorText, exitCodeOf } from "./call-end.js";
import { findMethod, listMethods } from "./find-method.js";
import { makeCall } from "./make-call.js";
import { readTask } from "./read-task.js";
import type { ShortForms } from "./short-forms.js";

/** What `touchstone call` is told. */
export interface CallAsked {
  /** Absent: tell which methods there are. */
  readonly method: string | undefined;
  readonly json: string | undefined;
  readonly shortForms: ShortForms;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number | undefined;
}

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

/** Makes the call that was asked for and tells its answer, or why there is none. Answers the exit code. Throws ConfigError. */
export async function runCall(channel: Channel, asked: CallAsked): Promise<number> {
  const { headers, timeoutMs } = asked;
  try {
    if (asked.method === undefined) {
      for (const line of await listMethods(channel, headers)) say(line);
      return exitCodes.ok;
    }
    const method = await findMethod(asked.method, channel, headers);
    const completion = {
      flags: asked.shortForms,
      readTask: (flags: ShortForms) => readTask(flags, channel, headers),
      note: (text: string) => void process.stderr.write(`${text}\n`),
    };
    const options = { headers, ...(timeoutMs === undefined ? {} : { timeoutMs }) };
    const failed = await makeCall(channel, { method, data: asked.json, completion, options }, say);
    return failed ? exitCodes.failed : exitCodes.ok;
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
    // A line of a stream of requests that is none.
    if (error.cause instanceof ConfigError) throw error.cause;
    process.stderr.write(`${errorText(error)}\n`);
    return exitCodeOf(error);
  }
}
