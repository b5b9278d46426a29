import { type Action, ActionKind, type StepRequest, type ToolCall } from "../../../gen/index.js";
import { durationProblem } from "../../runtime/duration.js";
import { isId } from "../../runtime/identity.js";
import { invalidField } from "../../runtime/refusal.js";
import type { PreparedEnvironment } from "../prepared-environment.js";
import type { ReadCall } from "../tool/run-tool.js";
import { checkReadable } from "../verify/read-submission.js";
import { checkTensors } from "./check-tensors.js";

/** An action that is well formed. */
export interface ReadAction {
  readonly action: Action;
  /** The tool call that it is, if it is one. */
  readonly call: ReadCall | undefined;
}

const actionKinds = {
  items: ActionKind.ITEMS,
  toolCall: ActionKind.TOOL_CALL,
  content: ActionKind.CONTENT,
} as const;

/** What actions are read with. */
export interface ReadingActions {
  readonly prepared: Pick<PreparedEnvironment<never>, "agentIds" | "actionKinds" | "actionSpace">;
}

/** Checks what can be seen without the session. By hand: this is the hot path. */
export function checkStep(context: ReadingActions, request: StepRequest): readonly ReadAction[] {
  if (!isId(request.sessionId))
    throw invalidField("session_id", "expected an id: [A-Za-z0-9][A-Za-z0-9._-]{0,127}");
  const { name } = request;
  // ENV-STEP-016
  if (name.case === undefined)
    throw invalidField("step_index", "expected step_index or action_id, found neither");
  if (name.case === "actionId" && (name.value === "" || Buffer.byteLength(name.value) > 256)) {
    throw invalidField("action_id", `expected 1 to 256 bytes, found ${Buffer.byteLength(name.value)}`);
  }
  const problem = request.timeout === undefined ? undefined : durationProblem(request.timeout);
  if (problem !== undefined) throw invalidField("timeout", problem);
  return readActions(context, request.actions);
}

/** Checks the actions of a step; `within` is the path of the step in its request, with a dot, or empty. */
export function readActions(
  { prepared }: ReadingActions,
  given: readonly Action[],
  within = "",
): readonly ReadAction[] {
  if (given.length === 0) throw invalidField(`${within}actions`, "expected at least one action");
  return given.map((action, i) => {
    const path = `${within}actions[${i}]`;
    checkAgent(action, path, prepared.agentIds);
    if (i > 0 && given.findIndex(({ agentId }) => agentId === action.agentId) < i) {
      throw invalidField(`${path}.agent_id`, `a second action of agent "${action.agentId}" in one step`);
    }
    if (action.kind.case === "content") {
      checkTensors(action.kind.value.blocks, prepared.actionSpace, `${path}.content`);
    }
    return readAction(action, path, prepared.actionKinds);
  });
}

/** ENV-STEP-022 */
function checkAgent({ agentId }: Action, path: string, agentIds: readonly string[]): void {
  if (agentIds.includes(agentId)) return;
  const known = agentIds.map((known) => `"${known}"`).join(", ");
  throw invalidField(`${path}.agent_id`, `there is no agent "${agentId}"; there is ${known}`);
}

function readAction(action: Action, path: string, kinds: readonly ActionKind[]): ReadAction {
  const { kind } = action;
  if (kind.case === undefined)
    throw invalidField(path, "expected items, tool_call or content, found none that is known");
  // ENV-STEP-008
  if (!kinds.includes(actionKinds[kind.case])) {
    const declared = kinds.map((known) => ActionKind[known]).join(", ");
    throw invalidField(
      path,
      `an action of kind ${ActionKind[actionKinds[kind.case]]}; declared: ${declared || "none"}`,
    );
  }
  if (kind.case === "items") {
    for (const [i, item] of kind.value.items.entries()) checkReadable(item, `${path}.items.items[${i}]`);
  }
  return { action, call: kind.case === "toolCall" ? readCall(kind.value, `${path}.tool_call`) : undefined };
}

function readCall(call: ToolCall, path: string): ReadCall {
  const idBytes = Buffer.byteLength(call.callId);
  if (idBytes < 1 || idBytes > 256)
    throw invalidField(`${path}.call_id`, `expected 1 to 256 bytes, found ${idBytes}`);
  // ENV-STEP-014, field-case-87
  if (call.incomplete) throw invalidField(`${path}.incomplete`, "a call that a limit cut is never run");
  let args: unknown;
  try {
    args = JSON.parse(call.argumentsJson);
  } catch {
    throw invalidField(
      `${path}.arguments_json`,
      "expected the text of a JSON object, found text that is no JSON",
    );
  }
  // ENV-STEP-010
  if (typeof args !== "object" || args === null || Array.isArray(args)) {
    throw invalidField(
      `${path}.arguments_json`,
      "expected the text of a JSON object, found another JSON value",
    );
  }
  return { call, args };
}
