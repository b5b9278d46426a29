import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { z } from "zod";
import { FailureKind, FinishReason, Retry } from "../../../../gen/index.js";
import { type Clock, systemClock } from "../../../runtime/clock.js";
import { OperationFailure } from "../../../runtime/failure.js";
import { assistantMessage } from "../../../runtime/items.js";
import { pause } from "../../../runtime/pause.js";
import type { ModelCall, ModelDefinition } from "../../define-model.js";
import type { Saying } from "../../toy/saying.js";
import { toyModel } from "../../toy/toy-model.js";
import { toyOptions } from "../toy-options.js";
import { findConversation } from "./find-conversation.js";
import { readConversations, readScript } from "./read-script.js";
import { type Conversation, conversationSchema, type ScriptedCall } from "./script-schema.js";
import { sayingOf } from "./scripted-saying.js";

/** Options of the replay model; exactly one of `file` and `conversations`. */
export const replayOptions = toyOptions
  .extend({
    model: z.string().min(1).default("replay"),
    /** Path of the script, relative to the configuration; its format stands in `script-schema.ts`. */
    file: z.string().min(1).optional(),
    /** The script in place. */
    conversations: z.array(conversationSchema).optional(),
    /** What a call beyond the script gets: a failure that says so, or an empty answer. */
    on_end: z.enum(["fail", "stop"]).default("fail"),
  })
  .refine(({ file, conversations }) => (file === undefined) !== (conversations === undefined), {
    error: "expected exactly one of `file` and `conversations`",
    path: ["file"],
  });

/** Where a replay model finds its file and its time. */
export interface ReplayPlace {
  /** Folder that `file` is relative to; absent: the working directory. */
  readonly folder?: string;
  readonly clock?: Clock;
}

/** A model that says what a script says, by task, agent and number of the call. Throws ScriptError. */
export async function replay(
  given: z.input<typeof replayOptions>,
  { folder = ".", clock = systemClock }: ReplayPlace = {},
): Promise<ModelDefinition> {
  const options = replayOptions.parse(given);
  const conversations =
    options.file === undefined
      ? readConversations(options.conversations ?? [])
      : readScript(await readFile(resolve(folder, options.file), "utf8"), options.file);
  return toyModel({
    name: "replay",
    version: "1.0.0",
    model: options.model,
    weightsVersion: options.weights_version,
    contextTokens: options.context_tokens,
    maxOutputTokens: options.max_output_tokens,
    async say(call) {
      const scripted = scriptedCall(conversations, call, options.on_end);
      if (scripted === undefined) return ended;
      if (scripted.delay_ms !== undefined) await pause(scripted.delay_ms, { clock, signal: call.signal });
      if (scripted.fail !== undefined) throw failureOf(scripted.fail);
      return sayingOf(scripted);
    },
  });
}

/** What a call beyond the script is answered with `on_end: stop`. */
const ended: Saying = { items: [assistantMessage("")], finish: FinishReason.STOP };

/** What the script says of a call; undefined: it has ended, and that is an answer. */
function scriptedCall(
  conversations: readonly Conversation[],
  call: ModelCall,
  onEnd: "fail" | "stop",
): ScriptedCall | undefined {
  const found = findConversation(conversations, call);
  const scripted = found?.calls[call.callIndex];
  if (scripted !== undefined) return scripted;
  if (found !== undefined && onEnd === "stop") return undefined;
  const task = JSON.stringify(call.taskId?.id ?? "");
  const whose = `task ${task}, agent ${JSON.stringify(call.agentId)}`;
  throw new OperationFailure({
    kind: FailureKind.MODEL_UNAVAILABLE,
    retry: Retry.NEVER,
    reason:
      found === undefined
        ? `the script has no conversation for ${whose}`
        : `the script for ${whose} has ${found.calls.length} calls and this is call ${call.callIndex + 1}`,
  });
}

function failureOf({ kind, retry, reason }: NonNullable<ScriptedCall["fail"]>): OperationFailure {
  return new OperationFailure({
    kind: FailureKind[kind as keyof typeof FailureKind],
    retry: Retry[retry as keyof typeof Retry],
    reason,
  });
}
