import { z } from "zod";
import { type Item, Role } from "../../../../gen/index.js";
import { assistantMessage, textOf } from "../../../runtime/items.js";
import type { ModelDefinition } from "../../define-model.js";
import { toyModel } from "../../toy/toy-model.js";
import { toyOptions } from "../toy-options.js";

/** Options of the echo model. */
export const echoOptions = toyOptions.extend({ model: z.string().min(1).default("echo") });

/** A model that says the last words of the user back. */
export function echo(given: z.input<typeof echoOptions> = {}): ModelDefinition {
  const options = echoOptions.parse(given);
  return toyModel({
    name: "echo",
    version: "1.0.0",
    model: options.model,
    weightsVersion: options.weights_version,
    contextTokens: options.context_tokens,
    maxOutputTokens: options.max_output_tokens,
    say: async ({ prompt }) => ({ items: [assistantMessage(lastWords(prompt.items))] }),
  });
}

function lastWords(items: readonly Item[]): string {
  for (let i = items.length - 1; i >= 0; i -= 1) {
    const kind = items[i]?.kind;
    if (kind?.case === "chatMessage" && kind.value.role === Role.USER) return textOf(kind.value.content);
  }
  return "";
}
