import type { MessageInitShape } from "@bufbuild/protobuf";
import { type ChoiceSchema, FinishReason, type Item, type UsageSchema } from "../../../../../gen/index.js";
import type { Generated, ModelCall } from "../../../define-model.js";
import { invalidOutput } from "../../../invalid-output.js";
import { cutReason } from "../answer-limit.js";
import type { OpenaiOptions } from "../options.js";
import { chatItems } from "./chat-items.js";
import type { Completion, CompletionChoice } from "./chat-schema.js";
import { chatTokens } from "./chat-tokens.js";
import { itemIds } from "./item-ids.js";

/** What a whole answer says; `limit`: tokens that an answer was allowed. */
export function readCompletion(
  options: OpenaiOptions,
  call: ModelCall,
  { completion, limit }: { readonly completion: Completion; readonly limit: number | undefined },
): Generated {
  const { usage, prompt_token_ids: prompt } = completion;
  const choices = [...completion.choices].sort((a, b) => (a.index ?? 0) - (b.index ?? 0));
  const told = choices.map((choice, index): MessageInitShape<typeof ChoiceSchema> => {
    const output = choice.token_ids?.length ?? Math.ceil(usage.completion_tokens / choices.length);
    const cut = choice.finish_reason === "length";
    const items = chatItems(choice.message, itemIds(call.callId, index), cut);
    const tokens = chatTokens(options, call, { completion, choice, limit });
    return {
      items,
      finishReason: cut
        ? cutReason(options, { input: usage.prompt_tokens, output, limit })
        : finishOf(choice, items),
      ...(tokens === undefined ? {} : { tokens }),
    };
  });
  // Where the ids are known, they are what is counted (MDL-GEN-007).
  const ids = choices.map(({ token_ids: own }) => own?.length);
  const counted = call.wantTokenIds && prompt && ids.every((count) => count !== undefined);
  return {
    choices: told,
    usage: {
      ...usageOf(usage),
      ...(counted
        ? {
            inputTokens: BigInt(prompt.length),
            outputTokens: BigInt(ids.reduce((sum, count) => sum + count, 0)),
          }
        : {}),
    },
  };
}

/** What an upstream says that was used. */
export function usageOf(usage: Completion["usage"]): MessageInitShape<typeof UsageSchema> {
  return {
    inputTokens: BigInt(usage.prompt_tokens),
    cachedInputTokens: BigInt(usage.prompt_tokens_details?.cached_tokens ?? 0),
    outputTokens: BigInt(usage.completion_tokens),
    reasoningTokens: BigInt(usage.completion_tokens_details?.reasoning_tokens ?? 0),
  };
}

function finishOf({ finish_reason: reason }: CompletionChoice, items: readonly Item[]): FinishReason {
  const calls = items.some(({ kind }) => kind.case === "toolCall");
  const refused = items.some(({ kind }) => kind.case === "chatMessage" && kind.value.refusal);
  switch (reason) {
    case "stop":
      // A call that was asked for by name ends with `stop` as well.
      if (calls) return FinishReason.TOOL_CALLS;
      return refused ? FinishReason.REFUSAL : FinishReason.STOP;
    case "tool_calls":
    case "function_call":
      return FinishReason.TOOL_CALLS;
    case "content_filter":
      return FinishReason.CONTENT_FILTER;
    default:
      throw invalidOutput("the upstream's answer cannot be read: finish_reason is none that is known");
  }
}
