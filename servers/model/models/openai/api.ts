import type { Prompt } from "../../../../gen/index.js";
import type { Generated, ModelCall } from "../../define-model.js";

/** One of the APIs of an OpenAI-compatible upstream. */
export interface Api {
  /** Asks once; `limit`: tokens that an answer may have. Throws AnswerableError where the context is full. */
  generate(call: ModelCall, limit: number | undefined): Promise<Generated>;
  /** Tokens that a prompt has. */
  countTokens(prompt: Prompt, signal: AbortSignal): Promise<number>;
}
