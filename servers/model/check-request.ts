import { type GenerateRequest, type Sampling, SamplingSchema } from "../../gen/index.js";
import { invalidField, unsupported } from "../runtime/refusal.js";
import { checkPrompt } from "./check-prompt.js";
import type { ModelDefinition } from "./define-model.js";

/** Refuses what the model cannot do before it is asked; `within` is the request's path in its message, such as `request.`. */
export function checkRequest(definition: ModelDefinition, request: GenerateRequest, within: string): void {
  const { prompt, sampling, choiceCount = 1 } = request;
  if (prompt === undefined) throw invalidField(`${within}prompt`, "is required");
  if (sampling !== undefined) checkSampling(sampling, `${within}sampling`);
  const most = definition.maxChoices ?? 1;
  if (choiceCount > most) {
    throw invalidField(
      `${within}choice_count`,
      `model "${definition.model}" answers at most ${most} choices a call, ${choiceCount} were asked for`,
    );
  }
  if (request.wantTokenIds && definition.tokens === undefined)
    throw unsupported("TOKEN_IDS", "want_token_ids");
  if (request.wantLogprobs && definition.tokens !== "logprobs")
    throw unsupported("LOGPROBS", "want_logprobs");
  checkPrompt(definition, prompt, `${within}prompt`);
}

/** Refuses numbers that no JSON can hold; their ranges are in the proto file. */
export function checkSampling(sampling: Sampling, at: string): void {
  for (const field of SamplingSchema.fields) {
    const value = sampling[field.localName as keyof Sampling];
    if (typeof value === "number" && !Number.isFinite(value)) {
      throw invalidField(`${at}.${field.name}`, `expected a finite number, found ${value}`);
    }
  }
}
