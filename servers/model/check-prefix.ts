import type { Prompt } from "../../gen/index.js";
import { invalidField, unsupported } from "../runtime/refusal.js";
import type { ModelDefinition } from "./define-model.js";
import { tokenBytes } from "./token-bytes.js";

/** Refuses a prefix whose parts do not go together (MDL-LOGP-011). Whether it can be continued is the model's to say. */
export function checkPrefix(definition: ModelDefinition, prompt: Prompt, at: string): void {
  const { prefixTokenIds, prefixItems, items } = prompt;
  if (prefixTokenIds.length === 0 && prefixItems === 0) return;
  if (definition.tokens === undefined) throw unsupported("TOKEN_IDS", "prefix_token_ids");
  if (prefixTokenIds.length % tokenBytes !== 0) {
    throw invalidField(
      `${at}.prefix_token_ids`,
      `expected ids of ${tokenBytes} bytes each, found ${prefixTokenIds.length} bytes`,
    );
  }
  if (prefixTokenIds.length === 0) {
    throw invalidField(
      `${at}.prefix_token_ids`,
      `expected the ids of the first ${prefixItems} items, found none`,
    );
  }
  if (prefixItems === 0 || prefixItems > items.length) {
    throw invalidField(
      `${at}.prefix_items`,
      `expected how many of the ${items.length} items prefix_token_ids render, found ${prefixItems}`,
    );
  }
}
