import { type Block, type Item, type Prompt, type Reasoning, Role } from "../../../../../gen/index.js";
import { textOf } from "../../../../runtime/items.js";
import { invalidField } from "../../../../runtime/refusal.js";
import { asObject, type Json, parse, readExtra } from "../extra.js";
import { inputParts } from "./responses-content.js";

const roles: Readonly<Record<Exclude<Role, Role.ASSISTANT>, string>> = {
  [Role.UNSPECIFIED]: "user",
  [Role.SYSTEM]: "system",
  [Role.DEVELOPER]: "developer",
  [Role.USER]: "user",
};

/** The input of a conversation: one entry an item, written back as it came where it came from this API. */
export function responsesInput({ items }: Prompt): Json[] {
  return items.flatMap((item, i) => {
    const entry = entryOf(item, `prompt.items[${i}]`);
    return entry === undefined ? [] : [{ ...entry, ...readExtra("openai_responses", item.extraJson) }];
  });
}

function entryOf({ kind, itemId }: Item, at: string): Json | undefined {
  switch (kind.case) {
    case "chatMessage": {
      const { role, content, refusal } = kind.value;
      return role === Role.ASSISTANT
        ? { type: "message", role: "assistant", content: outputParts(content, refusal) }
        : { type: "message", role: roles[role], content: inputParts(content, `${at}.chat_message.content`) };
    }
    case "reasoning":
      return { type: "reasoning", id: `rs_${itemId}`, ...reasoningFields(kind.value) };
    case "toolCall": {
      const { callId, name, argumentsJson } = kind.value;
      return { type: "function_call", call_id: callId, name, arguments: argumentsJson };
    }
    case "toolResult": {
      const { callId, content, structuredJson } = kind.value;
      return {
        type: "function_call_output",
        call_id: callId,
        output: resultOutput(content, structuredJson, `${at}.tool_result.content`),
      };
    }
    case "opaque": {
      const { type, json } = kind.value;
      const raw = asObject(parse(json));
      if (!type.startsWith("openai_responses:") || raw === undefined) {
        throw invalidField(`${at}.opaque`, `Responses cannot take an entry of type "${type}"`);
      }
      return raw;
    }
    case undefined:
      return undefined;
  }
}

function outputParts(blocks: readonly Block[], refusal: boolean): Json[] {
  return blocks.map((block) => ({
    ...(refusal
      ? { type: "refusal", refusal: textOf([block]) }
      : { type: "output_text", text: textOf([block]), annotations: [] }),
    ...readExtra("openai_responses", block.extraJson),
  }));
}

/** Reasoning that another provider sealed is of no use here and stays out; what it shows goes along. */
function reasoningFields({ content, summary, sealed, provider }: Reasoning): Json {
  return {
    summary: summary.map((block) => textPart("summary_text", block)),
    ...(content.length === 0 ? {} : { content: content.map((block) => textPart("reasoning_text", block)) }),
    ...(sealed.length > 0 && provider === "openai_responses"
      ? { encrypted_content: Buffer.from(sealed).toString("utf8") }
      : {}),
  };
}

function textPart(type: string, block: Block): Json {
  return { type, text: textOf([block]), ...readExtra("openai_responses", block.extraJson) };
}

function resultOutput(content: readonly Block[], structuredJson: string, at: string): string | Json[] {
  const [only] = content;
  if (only === undefined) return structuredJson;
  const isText = only.kind.case === "text" || only.kind.case === "json";
  return content.length === 1 && isText && only.extraJson === "" ? textOf(content) : inputParts(content, at);
}
