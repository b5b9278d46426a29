import type { z } from "zod";
import { FailureKind, FinishReason, type Prompt, Retry } from "../../../../gen/index.js";
import { systemClock } from "../../../runtime/clock.js";
import { OperationFailure } from "../../../runtime/failure.js";
import { Refusal } from "../../../runtime/refusal.js";
import { defineModel, type Generated, type ModelCall, type ModelDefinition } from "../../define-model.js";
import { answerLimit } from "./answer-limit.js";
import type { Api } from "./api.js";
import { chatApi } from "./chat/index.js";
import { type OpenaiOptions, openaiOptions } from "./options.js";
import { responsesApi } from "./responses/index.js";
import { AnswerableError, createUpstream, type UpstreamSeams } from "./upstream.js";

export { openaiOptions } from "./options.js";

/**
 * A model behind an OpenAI-compatible API: Chat Completions or Responses. Conversations are translated both ways and
 * nothing is lost: what the API says beyond the fields of the contract travels in extra_json and opaque items.
 */
export function openai(
  given: z.input<typeof openaiOptions>,
  { clock = systemClock, random = Math.random }: Partial<UpstreamSeams> = {},
): ModelDefinition {
  const options = openaiOptions.parse(given);
  const upstream = createUpstream(options, { clock, random });
  const api = options.api === "chat" ? chatApi(options, upstream) : responsesApi(options, upstream);
  return defineModel({
    name: "openai",
    version: "1.0.0",
    model: options.model,
    weightsVersion: options.weights_version,
    contextTokens: options.context_tokens,
    ...(options.max_output_tokens === undefined ? {} : { maxOutputTokens: options.max_output_tokens }),
    maxChoices: options.api === "chat" ? options.max_choices : 1,
    ...(options.token_ids ? { tokens: "logprobs" as const } : {}),
    reads: ["blob", "uri"],
    generate: (call) => generate(options, api, call),
    async countTokens(prompt, signal) {
      refusePrefix(prompt);
      try {
        return await api.countTokens(prompt, signal);
      } catch (error) {
        if (error instanceof AnswerableError) throw uncountable(error);
        throw error;
      }
    },
    close: async () => upstream.close(),
  });
}

/** There is no way to give such an upstream the tokens of a prompt (MDL-LOGP-004). */
function refusePrefix({ prefixItems }: Prompt): void {
  if (prefixItems === 0) return;
  throw new Refusal(
    "PREFIX_NOT_EXTENSIBLE",
    "the upstream renders every prompt itself: it takes no prefix_token_ids",
  );
}

async function generate(options: OpenaiOptions, api: Api, call: ModelCall): Promise<Generated> {
  refusePrefix(call.prompt);
  const limit = answerLimit(options, call.sampling);
  try {
    try {
      return await api.generate(call, limit);
    } catch (error) {
      // A limit beyond what the context has left: without one, what is left is the limit (field-case-85).
      if (limit === undefined || !(error instanceof AnswerableError) || error.upstream.kind !== "context")
        throw error;
      return await api.generate(call, undefined);
    }
  } catch (error) {
    if (!(error instanceof AnswerableError)) throw error;
    // MDL-GEN-003: an over-long prompt is an answer, not an error.
    const finishReason =
      error.upstream.kind === "context" ? FinishReason.CONTEXT_LENGTH : FinishReason.CONTENT_FILTER;
    return { choices: Array.from({ length: call.choiceCount }, () => ({ finishReason })), usage: {} };
  }
}

function uncountable({ upstream }: AnswerableError): OperationFailure {
  return new OperationFailure({
    kind: FailureKind.MODEL_UNAVAILABLE,
    retry: Retry.NEVER,
    reason:
      upstream.kind === "context"
        ? "the prompt is longer than the upstream's context, and it does not tell how long"
        : "a filter of the upstream took the prompt: it does not tell how long it is",
  });
}
