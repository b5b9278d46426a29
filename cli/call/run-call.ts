import { CallError, type CallOptions, type Channel } from "../../clients/index.js";
import { EnvironmentService, type VerifyRequest } from "../../gen/index.js";
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
    const options = { headers, ...(timeoutMs === undefined ? {} : { timeoutMs }) };
    const completion = {
      flags: asked.shortForms,
      nextVerification: (request: VerifyRequest) => nextVerification(channel, request, options),
      readTask: (flags: ShortForms) => readTask(flags, channel, headers),
      note: (text: string) => void process.stderr.write(`${text}\n`),
    };
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

/**
 * The number of a session's next verification. Nothing counts them for whoever comes back to a session, but a gap is
 * refused, nothing happens, and the refusal tells the number (ALL-ORDER-002, ALL-ORDER-007). Throws CallError,
 * ConfigError.
 */
async function nextVerification(
  channel: Channel,
  withGap: VerifyRequest,
  options: CallOptions,
): Promise<number> {
  try {
    const answers = channel.serverStream(EnvironmentService.method.verify, withGap, options);
    for await (const _ of answers) break;
  } catch (error) {
    const next = error instanceof CallError ? error.metadata["expected_index"] : undefined;
    if (next === undefined) throw error;
    return Number(next);
  }
  throw new ConfigError([
    `--index: ${channel.target} does not tell which verification is next; give its number`,
  ]);
}
