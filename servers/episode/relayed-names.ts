import { clone } from "@bufbuild/protobuf";
import { type ResourceIntent, ResourceIntentSchema } from "../../gen/index.js";

// What another episode server calls its servers means nothing here: here they are called `its name/their name`.

/** A name of the server `relay` as it is called here. */
export function nameHere(relay: string, binding: string): string {
  return `${relay}/${binding}`;
}

/** An intent of the server `relay` by the name that its server has here. */
export function intentHere(relay: string, intent: ResourceIntent): ResourceIntent {
  const named = clone(ResourceIntentSchema, intent);
  named.binding = nameHere(relay, intent.binding);
  return named;
}

/** Of intents those that are of the server `relay`, by its own names. */
export function intentsThere(relay: string, intents: readonly ResourceIntent[]): ResourceIntent[] {
  return intents.flatMap((intent) => {
    if (!isOf(relay, intent)) return [];
    const named = clone(ResourceIntentSchema, intent);
    named.binding = intent.binding.slice(relay.length + 1);
    return [named];
  });
}

/** Whether an intent is of another episode server. */
export function isRelayed({ binding }: ResourceIntent): boolean {
  return binding.includes("/");
}

/** Whether an intent is of the server `relay`. */
export function isOf(relay: string | undefined, { binding }: ResourceIntent): boolean {
  return relay !== undefined && binding.startsWith(`${relay}/`);
}
