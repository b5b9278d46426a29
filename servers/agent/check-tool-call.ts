import type { ToolCall } from "../../gen/index.js";
import type { AgentSession } from "./agent-session.js";

/**
 * Why a call of a model is not made, in words for the model; undefined: it is made. What cannot be run as it was written
 * is the model's to correct, never an error of the infrastructure (AGT-ACT-009, AGT-ACT-013, field-case-087).
 */
export function whyNotRun(
  call: ToolCall,
  { tools, toolPeers }: Pick<AgentSession<unknown>, "tools" | "toolPeers">,
): string | undefined {
  if (call.incomplete) return "The call was cut by a limit and was not run.";
  if (!tools.some(({ name }) => name === call.name)) {
    return `There is no tool "${call.name}". Tools: ${tools.map(({ name }) => name).join(", ") || "none"}.`;
  }
  if (toolPeers.length === 0) return `The tool "${call.name}" cannot be reached. It was not run.`;
  return isObjectText(call.argumentsJson)
    ? undefined
    : "The arguments are not the text of a JSON object. The tool was not run.";
}

function isObjectText(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
