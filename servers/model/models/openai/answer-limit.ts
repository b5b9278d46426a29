import { FinishReason, type Sampling } from "../../../../gen/index.js";
import type { OpenaiOptions } from "./options.js";

/** Tokens that an answer may have: the least of what was asked and what is allowed; undefined: nobody says. */
export function answerLimit(
  { max_output_tokens: most, context_tokens: context }: OpenaiOptions,
  { maxOutputTokens }: Pick<Sampling, "maxOutputTokens">,
): number | undefined {
  const asked = maxOutputTokens === undefined ? undefined : Number(maxOutputTokens);
  const limits = [asked, most].filter((limit) => limit !== undefined);
  // More than the context is never reached, and some servers refuse it.
  return limits.length === 0 ? undefined : Math.min(...limits, context);
}

/** Why an answer that was cut was cut: by its limit, or because prompt and answer fill the context. */
export function cutReason(
  { context_tokens: context }: OpenaiOptions,
  tokens: { readonly input: number; readonly output: number; readonly limit: number | undefined },
): FinishReason {
  if (tokens.limit !== undefined && tokens.output >= tokens.limit) return FinishReason.LENGTH;
  return tokens.input + tokens.output >= context ? FinishReason.CONTEXT_LENGTH : FinishReason.LENGTH;
}
