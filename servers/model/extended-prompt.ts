import { create } from "@bufbuild/protobuf";
import { type Prompt, PromptSchema } from "../../gen/index.js";
import { Refusal } from "../runtime/refusal.js";
import type { CaptureEntry } from "./capture.js";
import { wholeIds } from "./token-parent.js";

/**
 * Asks with a prompt that begins with its parent's tokens as they were sampled, so that a conversation stays one sequence
 * of tokens (field-case-79); with the plain prompt where the model cannot go on behind them, which the record then tells
 * by having no parent.
 */
export async function askExtended<A>(
  plain: Prompt,
  parent: CaptureEntry | undefined,
  ask: (prompt: Prompt) => Promise<A>,
): Promise<A> {
  const ids = parent === undefined || plain.prefixItems > 0 ? undefined : wholeIds(parent);
  if (parent === undefined || ids === undefined) return await ask(plain);
  try {
    return await ask(create(PromptSchema, { ...plain, prefixTokenIds: ids, prefixItems: parent.items }));
  } catch (error) {
    if (error instanceof Refusal && error.reasonName === "PREFIX_NOT_EXTENSIBLE") return await ask(plain);
    throw error;
  }
}
