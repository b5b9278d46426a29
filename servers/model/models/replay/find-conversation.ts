import type { ModelCall } from "../../define-model.js";
import type { Conversation } from "./script-schema.js";

/** The conversation of a script that fits a call best; undefined: none does. */
export function findConversation(
  conversations: readonly Conversation[],
  call: Pick<ModelCall, "taskId" | "agentId">,
): Conversation | undefined {
  let best: { readonly conversation: Conversation; readonly fit: number } | undefined;
  for (const conversation of conversations) {
    const fit = fitOf(conversation, call);
    if (fit !== undefined && (best === undefined || fit > best.fit)) best = { conversation, fit };
  }
  return best?.conversation;
}

/** How exactly a conversation names what calls; undefined: it is for another one. */
function fitOf(
  { task, taskset, agent }: Conversation,
  { taskId, agentId }: Pick<ModelCall, "taskId" | "agentId">,
): number | undefined {
  if (task !== "*" && task !== taskId?.id) return undefined;
  if (taskset !== undefined && taskset !== taskId?.taskset) return undefined;
  if (agent !== "*" && agent !== agentId) return undefined;
  return (task === "*" ? 0 : 4) + (taskset === undefined ? 0 : 2) + (agent === "*" ? 0 : 1);
}
