import type { Prompt, Sampling } from "../../../../../gen/index.js";
import type { ModelCall } from "../../../define-model.js";
import { bodyText, fieldsOf, refuseSampling } from "../body.js";
import type { Json } from "../extra.js";
import type { OpenaiOptions } from "../options.js";
import { answerFormat, functionOf, toolFields } from "../tools.js";
import { responsesInput } from "./responses-input.js";

/** What a conversation is asked with, whatever is done with it. */
export function responsesPrompt(options: OpenaiOptions, prompt: Prompt): Json {
  const schema = answerFormat(prompt);
  return {
    model: options.model,
    input: responsesInput(prompt),
    ...toolFields(prompt, {
      dialect: "openai_responses",
      // Strict is what this API takes silence for.
      describe: (tool) => ({ strict: false, ...functionOf(tool) }),
      named: (name) => ({ name }),
    }),
    ...(schema === undefined ? {} : { text: { format: { type: "json_schema", ...schema } } }),
  };
}

/** Sampling under its names there; doubles stand in JSON exactly as they are (MDL-GEN-013). */
function samplingFields(options: OpenaiOptions, sampling: Sampling): Json {
  if (!options.sampling_extensions) {
    refuseSampling(
      sampling,
      [
        "stop",
        "seed",
        "presencePenalty",
        "frequencyPenalty",
        "topK",
        "minP",
        "repetitionPenalty",
        "stopTokenIds",
      ],
      "Responses has no such parameter; with sampling_extensions: true the upstream is said to take it",
    );
  }
  const { reasoningEffort } = sampling;
  return {
    ...fieldsOf(sampling, {
      temperature: "temperature",
      topP: "top_p",
      stop: "stop",
      presencePenalty: "presence_penalty",
      frequencyPenalty: "frequency_penalty",
      topK: "top_k",
      minP: "min_p",
      repetitionPenalty: "repetition_penalty",
      stopTokenIds: "stop_token_ids",
    }),
    ...(reasoningEffort === "" ? {} : { reasoning: { effort: reasoningEffort } }),
  };
}

/** The body of a call; `limit`: tokens that an answer may have. The conversation is the caller's: nothing is stored there. */
export function responsesBody(options: OpenaiOptions, call: ModelCall, limit: number | undefined): string {
  const body: Json = {
    ...responsesPrompt(options, call.prompt),
    ...samplingFields(options, call.sampling),
    ...(limit === undefined ? {} : { max_output_tokens: limit }),
    store: false,
    include: ["reasoning.encrypted_content"],
    ...(call.streaming ? { stream: true } : {}),
  };
  return bodyText(body, call.sampling.seed);
}
