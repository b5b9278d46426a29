import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type BlockSchema, type Item, ItemSchema, Role } from "../../../../../gen/index.js";
import { type Json, parse, without, writeExtra } from "../extra.js";
import { type Entry, functionCallSchema, messageSchema, reasoningSchema } from "./responses-schema.js";

type BlockInit = MessageInitShape<typeof BlockSchema>;
type KindInit = NonNullable<MessageInitShape<typeof ItemSchema>["kind"]>;

/** The id of the item at a place of an output: the same while it is streamed as in the answer. */
export function itemIdAt(callId: string, outputIndex: number): string {
  return `${callId}-0-${outputIndex}`;
}

/**
 * The items of an output, one an entry. What no field of theirs holds stands in extra_json, the upstream's own id with it,
 * so that the entry can be written back as it was. `cut`: a limit cut the answer.
 */
export function responsesItems(output: readonly Entry[], callId: string, cut: boolean): Item[] {
  return output.map((entry, i) => {
    const { kind, extra } = read(entry, cut && i === output.length - 1);
    return create(ItemSchema, {
      itemId: itemIdAt(callId, i),
      turnId: `${callId}-0`,
      kind,
      extraJson: writeExtra("openai_responses", extra),
    });
  });
}

function read(entry: Entry, cut: boolean): { kind: KindInit; extra: Json } {
  const message = messageSchema.safeParse(entry);
  if (message.success) {
    let refusal = false;
    const blocks = message.data.content.map((part) => {
      if (part.type === "output_text") return block(part.text, without(part, "type", "text"));
      refusal = true;
      return block(part.refusal, without(part, "type", "refusal"));
    });
    return {
      kind: { case: "chatMessage", value: { role: Role.ASSISTANT, content: blocks, refusal } },
      extra: without(entry, "type", "role", "content"),
    };
  }
  const called = functionCallSchema.safeParse(entry);
  if (called.success) {
    const { call_id: callId, name, arguments: argumentsJson, status } = called.data;
    const incomplete = status === "incomplete" || (cut && parse(argumentsJson) === undefined);
    return {
      kind: { case: "toolCall", value: { callId, name, argumentsJson, incomplete } },
      extra: without(entry, "type", "call_id", "name", "arguments"),
    };
  }
  const reasoning = reasoningSchema.safeParse(entry);
  if (reasoning.success) {
    const { summary, content, encrypted_content: sealed } = reasoning.data;
    const textBlocks = (parts: typeof summary): BlockInit[] =>
      (parts ?? []).map((part) => block(part.text, without(part, "type", "text")));
    return {
      kind: {
        case: "reasoning",
        value: {
          content: textBlocks(content),
          summary: textBlocks(summary),
          sealed: Buffer.from(sealed ?? "", "utf8"),
          provider: "openai_responses",
        },
      },
      extra: without(
        entry,
        "type",
        ...(summary ? ["summary"] : []),
        ...(content && content.length > 0 ? ["content"] : []),
        ...(sealed ? ["encrypted_content"] : []),
      ),
    };
  }
  return {
    kind: { case: "opaque", value: { type: `openai_responses:${entry.type}`, json: JSON.stringify(entry) } },
    extra: {},
  };
}

function block(text: string, extra: Json): BlockInit {
  return { kind: { case: "text", value: text }, extraJson: writeExtra("openai_responses", extra) };
}
