import type { Item } from "../../gen/index.js";
import { toolResult, toolResultItem } from "../runtime/items.js";

/**
 * Results for the tool calls of a turn that it left without one: cut, out of budget, interrupted, or a question to the
 * user. They are part of the conversation only: models refuse one that goes on behind an unanswered call.
 */
export function resultsForUnanswered(output: readonly Item[]): Item[] {
  const open = new Set<string>();
  for (const { kind } of output) {
    if (kind.case === "toolCall") open.add(kind.value.callId);
    if (kind.case === "toolResult") open.delete(kind.value.callId);
  }
  return [...open].map((callId) =>
    toolResultItem(toolResult(callId, "The turn ended here; the tool gave no result.")),
  );
}
