import { type Item, type Prompt, Role } from "../../../../../gen/index.js";
import { textOf } from "../../../../runtime/items.js";
import { invalidField } from "../../../../runtime/refusal.js";
import { asObject, type Json, parse, readExtra } from "../extra.js";
import { chatContent } from "./chat-content.js";

const roles: Readonly<Record<Role, string>> = {
  [Role.UNSPECIFIED]: "user",
  [Role.SYSTEM]: "system",
  [Role.DEVELOPER]: "developer",
  [Role.USER]: "user",
  [Role.ASSISTANT]: "assistant",
};

/** An assistant's message while its items are put together. */
interface Turn {
  readonly turnId: string;
  readonly message: Record<string, unknown>;
  readonly toolCalls: Json[];
  /** How far the message has come: reasoning, content, refusal, tool calls stand in this order. */
  rank: number;
}

const rank = { reasoning: 1, content: 2, refusal: 3, toolCall: 4 } as const;

/** The messages of a conversation: the items of one model message are one message again, in their order. */
export function chatMessages({ items }: Prompt): Json[] {
  const messages: Json[] = [];
  let turn: Turn | undefined;
  const flush = (): void => {
    if (turn !== undefined) messages.push(messageOf(turn));
    turn = undefined;
  };
  const turnFor = ({ turnId }: Item, next: number): Turn => {
    const goesOn =
      turn !== undefined &&
      turn.turnId === turnId &&
      (next > turn.rank || (next === rank.toolCall && turn.rank === rank.toolCall));
    if (!goesOn) flush();
    turn ??= { turnId, message: { role: "assistant" }, toolCalls: [], rank: 0 };
    turn.rank = next;
    return turn;
  };

  items.forEach((item, i) => {
    const at = `prompt.items[${i}]`;
    const { kind } = item;
    const extra = readExtra("openai_chat", item.extraJson);
    switch (kind.case) {
      case "chatMessage": {
        const { role, content, name, refusal } = kind.value;
        if (role === Role.ASSISTANT) {
          const { message } = turnFor(item, refusal ? rank.refusal : rank.content);
          Object.assign(message, extra["message"]);
          if (refusal) message["refusal"] = textOf(content);
          else message["content"] = chatContent(content, `${at}.chat_message.content`);
          if (name !== "") message["name"] = name;
          break;
        }
        flush();
        messages.push({
          ...asObject(extra["message"]),
          role: roles[role],
          content: chatContent(content, `${at}.chat_message.content`),
          ...(name === "" ? {} : { name }),
        });
        break;
      }
      case "reasoning": {
        const { message } = turnFor(item, rank.reasoning);
        Object.assign(message, extra["message"]);
        const { content, summary } = kind.value;
        message[extra["field"] === "reasoning" ? "reasoning" : "reasoning_content"] = textOf(
          content.length > 0 ? content : summary,
        );
        break;
      }
      case "toolCall": {
        const { message, toolCalls } = turnFor(item, rank.toolCall);
        Object.assign(message, extra["message"]);
        const { callId, name, argumentsJson } = kind.value;
        const written = asObject(extra["tool_call"]);
        toolCalls.push({
          type: "function",
          ...written,
          id: callId,
          function: { ...asObject(written?.["function"]), name, arguments: argumentsJson },
        });
        break;
      }
      case "toolResult": {
        flush();
        const { callId, content, structuredJson } = kind.value;
        messages.push({
          ...asObject(extra["message"]),
          role: "tool",
          tool_call_id: callId,
          content:
            content.length === 0 && structuredJson !== ""
              ? structuredJson
              : chatContent(content, `${at}.tool_result.content`),
        });
        break;
      }
      case "opaque": {
        const { type, json } = kind.value;
        const raw = asObject(parse(json));
        if (type === "openai_chat:tool_call" && raw !== undefined) {
          const { message, toolCalls } = turnFor(item, rank.toolCall);
          Object.assign(message, extra["message"]);
          toolCalls.push(raw);
        } else if (type === "openai_chat:message" && raw !== undefined) {
          flush();
          messages.push(raw);
        } else {
          throw invalidField(`${at}.opaque`, `Chat Completions cannot take an entry of type "${type}"`);
        }
        break;
      }
      case undefined:
        break;
    }
  });
  flush();
  return messages;
}

function messageOf({ message, toolCalls }: Turn): Json {
  return {
    ...message,
    // A message needs content, if only null.
    content: message["content"] ?? null,
    ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
  };
}
