import type { Prompt, Sampling } from "../../../../../gen/index.js";
import type { ModelCall } from "../../../define-model.js";
import { bodyText, fieldsOf, refuseSampling } from "../body.js";
import type { Json } from "../extra.js";
import type { OpenaiOptions } from "../options.js";
import { answerFormat, functionOf, toolFields } from "../tools.js";
import { chatMessages } from "./chat-messages.js";

/** What a conversation is asked with, whatever is done with it. */
export function chatPrompt(options: OpenaiOptions, prompt: Prompt): Json {
  const schema = answerFormat(prompt);
  return {
    model: options.model,
    messages: chatMessages(prompt),
    ...toolFields(prompt, {
      dialect: "openai_chat",
      describe: (tool) => ({ function: functionOf(tool) }),
      named: (name) => ({ function: { name } }),
    }),
    ...(schema === undefined ? {} : { response_format: { type: "json_schema", json_schema: schema } }),
  };
}

/** Sampling under its names there; doubles stand in JSON exactly as they are (MDL-GEN-013). */
function samplingFields(options: OpenaiOptions, sampling: Sampling): Json {
  if (!options.sampling_extensions) {
    refuseSampling(
      sampling,
      ["topK", "minP", "repetitionPenalty", "stopTokenIds"],
      "Chat Completions has no such parameter; with sampling_extensions: true the upstream is said to take it",
    );
  }
  return fieldsOf(sampling, {
    temperature: "temperature",
    topP: "top_p",
    presencePenalty: "presence_penalty",
    frequencyPenalty: "frequency_penalty",
    stop: "stop",
    reasoningEffort: "reasoning_effort",
    topK: "top_k",
    minP: "min_p",
    repetitionPenalty: "repetition_penalty",
    stopTokenIds: "stop_token_ids",
  });
}

/** The body of a call; `limit`: tokens that an answer may have. */
export function chatBody(options: OpenaiOptions, call: ModelCall, limit: number | undefined): string {
  const body: Json = {
    ...chatPrompt(options, call.prompt),
    ...samplingFields(options, call.sampling),
    ...(limit === undefined ? {} : { [options.max_tokens_field]: limit }),
    ...(call.choiceCount === 1 ? {} : { n: call.choiceCount }),
    ...(call.wantTokenIds ? { return_token_ids: true } : {}),
    ...(call.wantLogprobs ? { logprobs: true, return_tokens_as_token_ids: true } : {}),
    ...(call.streaming ? { stream: true, stream_options: { include_usage: true } } : {}),
  };
  return bodyText(body, call.sampling.seed);
}
