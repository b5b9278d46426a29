import { z } from "zod";

/** Options that all models over the toy tokenizer have. */
export const toyOptions = z.strictObject({
  /** Tokens of a prompt and its answer. */
  context_tokens: z.int().min(1).default(131_072),
  /** Tokens of an answer; absent: what the context has left. */
  max_output_tokens: z.int().min(1).optional(),
  /** Version of the weights, told in every token record. */
  weights_version: z.string().min(1).default("1"),
});
