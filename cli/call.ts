import { Command, InvalidArgumentError, Option } from "commander";
import { duration } from "../servers/composition/duration-text.js";
import type { ShortForms } from "./call/short-forms.js";
import { openChannel, type ReachFlags, reachHeaders, withReachOptions } from "./reach-options.js";

interface CallFlags extends ShortForms, ReachFlags {
  readonly header?: Readonly<Record<string, string>>;
  readonly timeout?: number;
}

function index(value: string): number {
  if (/^\d{1,9}$/.test(value)) return Number(value);
  throw new InvalidArgumentError("expected a whole number");
}

function milliseconds(value: string): number {
  const parsed = duration.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new InvalidArgumentError("expected a duration with its unit, such as 500ms, 30s or 5m");
}

function header(value: string, before: Readonly<Record<string, string>> = {}) {
  const [, name, content] = /^([A-Za-z0-9_.-]+)\s*:\s*(.*)$/.exec(value) ?? [];
  if (name === undefined || content === undefined) throw new InvalidArgumentError("expected 'name: value'");
  return { ...before, [name.toLowerCase()]: content };
}

const examples = `
Examples:
  touchstone call 127.0.0.1:7001                                   the methods that the server has
  touchstone call 127.0.0.1:7001 seed --task tasks.jsonl:3         begin a session; its name is made up and told
  touchstone call 127.0.0.1:7001 tools --session call-1a2b3c4d
  touchstone call 127.0.0.1:7001 step --session call-1a2b3c4d --tool guess --args '{"number": 50}'
  touchstone call 127.0.0.1:7001 verify --session call-1a2b3c4d
  touchstone call 127.0.0.1:7001 close --session call-1a2b3c4d
  touchstone call 127.0.0.1:7002 count-tokens @request.json        any method, its request as JSON

Exit codes: 0 it was answered, 1 it was refused or failed, 2 bad input, or nobody there, 3 what became of it is unknown.`;

/** `touchstone call URL [METHOD [JSON]]` */
export function callCommand(): Command {
  const command = new Command("call")
    .description(
      "Call a method of a server by hand, such as those that step an environment; the answer is JSON.",
    )
    .argument("<url>", "where it is, such as http://127.0.0.1:7001")
    .argument(
      "[method]",
      "seed, step, verify, close, tools, environment/describe ...; absent: tells which there are",
    )
    .argument("[json]", "the request as JSON, @file, or - for standard input (streams: one on each line)")
    .addOption(
      new Option("--session <id>", "session that it is for; seed and open make one up").env(
        "TOUCHSTONE_SESSION",
      ),
    )
    .option("--episode <id>", "rollout id of the episode; absent: the session's name")
    .option("--agent <id>", "agent that acts; absent: agent")
    .option("--task <file[:line]>", "seed: a task of a JSONL file")
    .option("--row-schema <name>", "seed: schema of the file's rows; absent: each line is a task")
    .option("--task-id <[taskset/]id>", "seed: a task that the environment lists")
    .option("--seed <n>", "seed: seed of the world")
    .option("--tool <name>", "step: call this tool")
    .option("--args <json>", "step: arguments of the tool")
    .option("--say <text>", "step, verify: what the agent says")
    .option("--index <n>", "step, verify: its index, to repeat one; absent: the next", index)
    .option("--not-final", "verify: leave the session open for more steps")
    .option("--header <name: value>", "metadata to send; may be given several times", header)
    .option("--timeout <duration>", "deadline of the call, such as 30s", milliseconds)
    .addHelpText("after", examples);
  return withReachOptions(command).action(
    async (url: string, method: string | undefined, json: string | undefined, flags: CallFlags) => {
      const { runCall } = await import("./call/run-call.js");
      const { header: more, timeout, credential, ca, clientCert, clientKey, ...shortForms } = flags;
      const reach = { credential, ca, clientCert, clientKey } as ReachFlags;
      const channel = openChannel(url, reach);
      const headers = { ...reachHeaders(reach), ...more };
      try {
        process.exitCode = await runCall(channel, { method, json, shortForms, headers, timeoutMs: timeout });
      } finally {
        await channel.close();
      }
    },
  );
}
