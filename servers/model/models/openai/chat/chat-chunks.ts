import type { ModelCall } from "../../../define-model.js";
import type { Json } from "../extra.js";
import { readJson } from "../read-json.js";
import { type Chunk, chunkSchema } from "./chat-schema.js";
import { itemIds } from "./item-ids.js";

type ChunkChoice = NonNullable<Chunk["choices"]>[number];
type Delta = NonNullable<ChunkChoice["delta"]>;
type ToolCallDelta = NonNullable<Delta["tool_calls"]>[number];

/** A choice while its chunks come. */
interface Growing {
  readonly rest: Record<string, unknown>;
  readonly message: Record<string, unknown>;
  readonly toolCalls: Record<string, unknown>[];
}

/**
 * Puts the chunks of a streamed answer together to the whole answer that would have come without a stream, and shows each
 * piece. `whole` is undefined while no choice has its finish or the usage has not come: the stream ended early.
 */
export class ChatChunks {
  readonly #choices: Growing[] = [];
  readonly #rest: Record<string, unknown> = {};

  constructor(private readonly call: Pick<ModelCall, "callId" | "onDelta">) {}

  add(value: unknown): void {
    const { choices, ...rest } = readJson(chunkSchema, value);
    for (const [name, part] of Object.entries(rest)) {
      if (part !== null && part !== undefined) this.#rest[name] = part;
    }
    for (const choice of choices ?? []) this.#addChoice(choice);
  }

  get whole(): Json | undefined {
    const ended = this.#choices.every(({ rest }) => typeof rest["finish_reason"] === "string");
    if (this.#choices.length === 0 || !ended || this.#rest["usage"] === undefined) return undefined;
    return {
      ...this.#rest,
      choices: this.#choices.map(({ rest, message, toolCalls }) => ({
        ...rest,
        message: { ...message, ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }) },
      })),
    };
  }

  #addChoice({ index, delta, logprobs, token_ids: ids, ...rest }: ChunkChoice): void {
    const at = index ?? 0;
    while (this.#choices.length <= at) this.#choices.push({ rest: {}, message: {}, toolCalls: [] });
    const growing = this.#choices[at];
    if (growing === undefined) return;
    grow(growing.rest, rest);
    if (ids) growing.rest["token_ids"] = [...asArray(growing.rest["token_ids"]), ...ids];
    if (logprobs) {
      const before = growing.rest["logprobs"] as { content?: unknown } | undefined;
      growing.rest["logprobs"] = {
        ...logprobs,
        content: [...asArray(before?.content), ...(logprobs.content ?? [])],
      };
    }
    if (delta) this.#addDelta(growing, at, delta);
  }

  #addDelta({ message, toolCalls }: Growing, choiceIndex: number, delta: Delta): void {
    const { tool_calls: calls, ...rest } = delta;
    grow(message, rest);
    const ids = itemIds(this.call.callId, choiceIndex);
    const show = (itemId: string, kind: "text" | "reasoning" | "argumentsJson", text: unknown): void => {
      if (typeof text === "string" && text !== "") this.call.onDelta(choiceIndex, { itemId, kind, text });
    };
    show(ids.reasoning, "reasoning", delta.reasoning_content || delta.reasoning);
    show(ids.content, "text", delta.content);
    show(ids.refusal, "text", delta.refusal);
    for (const call of calls ?? []) {
      growCall(toolCalls, call);
      show(ids.toolCall(call.index), "argumentsJson", call.function?.arguments);
    }
  }
}

function growCall(
  toolCalls: Record<string, unknown>[],
  { index, function: called, ...rest }: ToolCallDelta,
): void {
  while (toolCalls.length <= index) toolCalls.push({});
  const growing = toolCalls[index];
  if (growing === undefined) return;
  for (const [name, part] of Object.entries(rest)) if (part !== null && part !== "") growing[name] = part;
  if (!called) return;
  const { name, arguments: written, ...inner } = called;
  const before = (growing["function"] ?? { name: "", arguments: "" }) as { name: string; arguments: string };
  growing["function"] = {
    ...before,
    ...inner,
    name: name ? name : before.name,
    arguments: before.arguments + (written ?? ""),
  };
}

/** Text grows, lists grow, other values replace what was there; null only stands where nothing is. */
function grow(target: Record<string, unknown>, source: Json): void {
  for (const [name, part] of Object.entries(source)) {
    const before = target[name];
    if (name === "role" || name === "finish_reason") target[name] = part ?? before;
    else if (typeof before === "string" && typeof part === "string") target[name] = before + part;
    else if (Array.isArray(before) && Array.isArray(part)) target[name] = [...before, ...part];
    else if (part !== null || before === undefined) target[name] = part;
  }
}

function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
