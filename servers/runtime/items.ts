import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type Block,
  BlockSchema,
  type Item,
  ItemSchema,
  Role,
  type ToolCallSchema,
  type ToolResult,
  ToolResultSchema,
} from "../../gen/index.js";

/** A block of plain text. */
export function textBlock(text: string): Block {
  return create(BlockSchema, { kind: { case: "text", value: text } });
}

/** A chat message of plain text. */
export function chatMessage(role: Role, text: string): Item {
  return create(ItemSchema, {
    kind: { case: "chatMessage", value: { role, content: [textBlock(text)] } },
  });
}

/** What a user says, or the environment on the user's behalf. */
export function userMessage(text: string): Item {
  return chatMessage(Role.USER, text);
}

/** What a model says. */
export function assistantMessage(text: string): Item {
  return chatMessage(Role.ASSISTANT, text);
}

/** A tool call as an item. */
export function toolCallItem(call: MessageInitShape<typeof ToolCallSchema>): Item {
  return create(ItemSchema, { kind: { case: "toolCall", value: call } });
}

/** What a tool answered. */
export function toolResult(callId: string, text: string, isError = false): ToolResult {
  return create(ToolResultSchema, { callId, content: [textBlock(text)], isError });
}

/** A tool's answer as an item. */
export function toolResultItem(result: ToolResult): Item {
  return create(ItemSchema, { kind: { case: "toolResult", value: result } });
}

/** The text of blocks: plain text and JSON text as they are, joined; other kinds have none. */
export function textOf(blocks: readonly Block[]): string {
  return blocks.map(({ kind }) => (kind.case === "text" || kind.case === "json" ? kind.value : "")).join("");
}

/** The agent's answer: the text of its last chat message; empty where it said nothing. */
export function lastAnswer(items: readonly Item[]): string {
  for (let i = items.length - 1; i >= 0; i -= 1) {
    const kind = items[i]?.kind;
    if (kind?.case === "chatMessage" && kind.value.role === Role.ASSISTANT) return textOf(kind.value.content);
  }
  return "";
}
