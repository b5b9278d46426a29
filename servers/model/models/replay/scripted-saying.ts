import { create } from "@bufbuild/protobuf";
import { FinishReason, type Item, ItemSchema, Role } from "../../../../gen/index.js";
import { textBlock } from "../../../runtime/items.js";
import type { Saying } from "../../toy/saying.js";
import type { ScriptedCall } from "./script-schema.js";

const finishReasons: Readonly<Record<NonNullable<ScriptedCall["finish"]>, FinishReason>> = {
  stop: FinishReason.STOP,
  length: FinishReason.LENGTH,
  tool_calls: FinishReason.TOOL_CALLS,
  context_length: FinishReason.CONTEXT_LENGTH,
  refusal: FinishReason.REFUSAL,
  content_filter: FinishReason.CONTENT_FILTER,
};

/** Finishes of an answer that was cut. */
const cuts = new Set<ScriptedCall["finish"]>(["length", "context_length", "content_filter"]);

/** What a scripted call says. */
export function sayingOf(call: ScriptedCall): Saying {
  const { finish, usage } = call;
  return {
    items: itemsOf(call),
    finish: finish === undefined ? undefined : finishReasons[finish],
    cut: cuts.has(finish) || call.tool_calls?.at(-1)?.incomplete === true,
    outputTokenIds: call.output_token_ids,
    logprobs: call.logprobs?.map(Number),
    weightsVersion: call.weights_version,
    usage:
      usage === undefined
        ? undefined
        : {
            ...(usage.input_tokens === undefined ? {} : { inputTokens: usage.input_tokens }),
            ...(usage.cached_input_tokens === undefined
              ? {}
              : { cachedInputTokens: usage.cached_input_tokens }),
            ...(usage.output_tokens === undefined ? {} : { outputTokens: usage.output_tokens }),
            ...(usage.reasoning_tokens === undefined ? {} : { reasoningTokens: usage.reasoning_tokens }),
            ...(usage.cost_usd === undefined ? {} : { costUsd: usage.cost_usd }),
          },
  };
}

function itemsOf({ text, reasoning, tool_calls: toolCalls = [], finish }: ScriptedCall): Item[] {
  const items: Item[] = [];
  if (reasoning !== undefined) {
    items.push(
      create(ItemSchema, { kind: { case: "reasoning", value: { content: [textBlock(reasoning)] } } }),
    );
  }
  if (text !== undefined || (items.length === 0 && toolCalls.length === 0)) {
    const content = [textBlock(text ?? "")];
    const refusal = finish === "refusal";
    items.push(
      create(ItemSchema, {
        kind: { case: "chatMessage", value: { role: Role.ASSISTANT, content, refusal } },
      }),
    );
  }
  for (const call of toolCalls) {
    const { name, arguments: written, call_id: callId = "", incomplete } = call;
    const argumentsJson = typeof written === "string" ? written : JSON.stringify(written);
    items.push(
      create(ItemSchema, { kind: { case: "toolCall", value: { callId, name, argumentsJson, incomplete } } }),
    );
  }
  return items;
}
