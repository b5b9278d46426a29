import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Item, ItemSchema, Role } from "../../../../../gen/index.js";
import { textBlock } from "../../../../runtime/items.js";
import { type Json, parse, without, writeExtra } from "../extra.js";
import type { CompletionChoice } from "./chat-schema.js";
import type { ItemIds } from "./item-ids.js";

type Message = CompletionChoice["message"];
type ToolCall = NonNullable<Message["tool_calls"]>[number];

/** An item and what the dialect says of it beyond its fields. */
interface Part {
  readonly itemId: string;
  readonly kind: NonNullable<MessageInitShape<typeof ItemSchema>["kind"]>;
  readonly extra: Json;
}

/**
 * The items of a message: reasoning, content, refusal, tool calls. What no field of theirs holds stands in the first one's
 * extra_json, so that the message can be written back as it was. `cut`: a limit cut it.
 */
export function chatItems(message: Message, ids: ItemIds, cut: boolean): Item[] {
  const { content, refusal, tool_calls: toolCalls } = message;
  const field = reasoningField(message);
  const calls = toolCalls ?? [];
  const parts: Part[] = [];
  if (field !== undefined) {
    const value = { content: [textBlock(message[field] ?? "")], provider: "openai_chat" };
    parts.push({ itemId: ids.reasoning, kind: { case: "reasoning", value }, extra: { field } });
  }
  // No words at all are what the model said where it said nothing else.
  const empty = field === undefined && !refusal && calls.length === 0;
  if (content || empty) parts.push(saidPart(ids.content, content ?? "", false));
  if (refusal) parts.push(saidPart(ids.refusal, refusal, true));
  calls.forEach((call, i) => {
    parts.push(toolCallPart(call, ids.toolCall(i), cut && i === calls.length - 1));
  });
  const rest = without(
    message,
    "role",
    "tool_calls",
    ...(field === undefined ? [] : [field]),
    ...(content || content === null || content === undefined || empty ? ["content"] : []),
    ...(refusal ? ["refusal"] : []),
  );
  return parts.map(({ itemId, kind, extra }, i) => {
    const told = i === 0 && Object.keys(rest).length > 0 ? { ...extra, message: rest } : extra;
    return create(ItemSchema, {
      itemId,
      turnId: ids.turnId,
      kind,
      extraJson: writeExtra("openai_chat", told),
    });
  });
}

/** The field that a message's reasoning is in; servers have two names for it. */
export function reasoningField(message: Json): "reasoning_content" | "reasoning" | undefined {
  const names = ["reasoning_content", "reasoning"] as const;
  return names.find((name) => typeof message[name] === "string" && message[name] !== "");
}

function saidPart(itemId: string, text: string, refusal: boolean): Part {
  const value = { role: Role.ASSISTANT, content: [textBlock(text)], refusal };
  return { itemId, kind: { case: "chatMessage", value }, extra: {} };
}

function toolCallPart(call: ToolCall, itemId: string, cut: boolean): Part {
  const { function: called, id } = call;
  if (called === undefined || called === null) {
    // Another kind of tool: kept, and given back as it is.
    const value = { type: "openai_chat:tool_call", json: JSON.stringify(call) };
    return { itemId, kind: { case: "opaque", value }, extra: {} };
  }
  const value = {
    // Some servers give no id; the result must refer to the call all the same.
    callId: id === undefined || id === null || id === "" ? itemId : id,
    name: called.name,
    argumentsJson: called.arguments,
    incomplete: cut && parse(called.arguments) === undefined,
  };
  const inner = without(called, "name", "arguments");
  const written = {
    ...without(call, "id", "function"),
    ...(Object.keys(inner).length === 0 ? {} : { function: inner }),
  };
  const plain = Object.keys(written).length === 1 && call.type === "function";
  return { itemId, kind: { case: "toolCall", value }, extra: plain ? {} : { tool_call: written } };
}
