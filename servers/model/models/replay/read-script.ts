import type { z } from "zod";
import { tokensOf } from "../../toy/saying.js";
import { sameSpelling, spellingOf } from "../../toy/vocabulary.js";
import { type Conversation, conversationSchema } from "./script-schema.js";
import { sayingOf } from "./scripted-saying.js";

/** A script that cannot be read: every bad line with its number, field, what was expected and what was found. */
export class ScriptError extends Error {
  constructor(readonly problems: readonly string[]) {
    super(problems.join("\n"));
    this.name = "ScriptError";
  }
}

/** A conversation and where it stands. */
interface Placed {
  readonly place: string;
  readonly value: unknown;
}

/** Reads a script file's text (field-case-103, field-case-104). Throws ScriptError. */
export function readScript(text: string, file: string): Conversation[] {
  const problems: string[] = [];
  const placed: Placed[] = [];
  text
    .replace(/^\uFEFF/, "")
    .split(/\r?\n/)
    .forEach((line, i) => {
      if (line.trim() === "") return;
      const place = `${file}:${i + 1}`;
      try {
        placed.push({ place, value: JSON.parse(line) });
      } catch {
        problems.push(`${place}: expected one JSON object, found text that is no JSON`);
      }
    });
  return checkConversations(placed, problems);
}

/** Checks conversations that were given in place. Throws ScriptError. */
export function readConversations(values: readonly unknown[]): Conversation[] {
  return checkConversations(
    values.map((value, i) => ({ place: `conversations[${i}]`, value })),
    [],
  );
}

function checkConversations(placed: readonly Placed[], problems: string[]): Conversation[] {
  const places = new Map<string, string>();
  const conversations = placed.flatMap(({ place, value }) => {
    const parsed = conversationSchema.safeParse(value, { reportInput: true });
    if (!parsed.success) {
      problems.push(...parsed.error.issues.map((issue) => `${place}: ${describe(issue)}`));
      return [];
    }
    const conversation = parsed.data;
    const name = JSON.stringify([conversation.taskset ?? "", conversation.task, conversation.agent]);
    const earlier = places.get(name);
    if (earlier !== undefined) {
      problems.push(
        `${place}: task, taskset and agent are those of ${earlier}; expected one conversation for each`,
      );
    }
    places.set(name, place);
    problems.push(...wrongSpellings(conversation).map((problem) => `${place}: ${problem}`));
    return [conversation];
  });
  if (problems.length > 0) throw new ScriptError(problems);
  return conversations;
}

function describe({ path, message, input }: z.core.$ZodIssue): string {
  const at = path.map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`)).join("");
  const told = /received|found|Unrecognized/.test(message)
    ? message
    : `${message}, found ${JSON.stringify(input)}`;
  return at === "" ? told : `${at.replace(/^\./, "")}: ${told}`;
}

/** Tokens that do not spell what their call says. */
function wrongSpellings({ calls }: Conversation): string[] {
  return calls.flatMap((call, i) => {
    if (call.output_token_ids === undefined) return [];
    const wanted = tokensOf(sayingOf(call));
    if (sameSpelling(wanted, call.output_token_ids)) return [];
    return [
      `calls[${i}].output_token_ids: expected tokens that spell ${spellingOf(wanted)}, found tokens that spell ${spellingOf(call.output_token_ids)}`,
    ];
  });
}
