import { Refusal } from "../../runtime/refusal.js";
import type { Session } from "../../runtime/session.js";
import { authorCall } from "../author-call.js";
import { type EnvironmentSession, partOf } from "../environment-session.js";
import type { TurnRules } from "../prepared-environment.js";
import type { PreparedTool } from "../tool/prepared-tool.js";
import { problemText } from "../tool/run-tool.js";
import type { ReadAction } from "./check-step.js";

/** What a step is held to beside where its session stands. */
export interface NumberedTurnRules extends TurnRules {
  /** The index that the caller gave the step, if it did. */
  readonly index: number | undefined;
}

/** Checks what depends on where the session stands, at the session's turn. */
export function checkTurn<Data, State>(
  session: Session<EnvironmentSession<Data, State>>,
  actions: readonly ReadAction[],
  { simultaneous, strictArguments, index }: NumberedTurnRules,
): void {
  const { state } = session;
  if (state === undefined) return;
  // ENV-STEP-006, ENV-FENC-001
  if (state.ended) throw new Refusal("EPISODE_ENDED", "the episode is over: no steps any more");
  // A gap in the order is told before whose turn it would be (ENV-STRM-004).
  if (index !== undefined && index > session.begun("step")) return;
  checkWhoActs(state.next, actions, simultaneous);
  actions.forEach(({ action, call }, i) => {
    if (call === undefined) return;
    const path = `actions[${i}].tool_call`;
    const tool = toolOf(partOf(state, action.agentId).tools, call.call.name, path);
    if (strictArguments) checkArguments(tool, call.args, path);
  });
}

/** ENV-MULT-003 */
function checkWhoActs(next: readonly string[], actions: readonly ReadAction[], simultaneous: boolean): void {
  for (const [i, { action }] of actions.entries()) {
    if (!next.includes(action.agentId)) {
      outOfTurn(
        `actions[${i}].agent_id`,
        `it is not the turn of agent "${action.agentId}"; next: ${next.join(", ")}`,
      );
    }
  }
  if (!simultaneous || actions.length === next.length) return;
  const missing = next.filter((agentId) => !actions.some(({ action }) => action.agentId === agentId));
  outOfTurn("actions", `turns are simultaneous: the step lacks the actions of ${missing.join(", ")}`);
}

function outOfTurn(field: string, description: string): never {
  throw new Refusal("OUT_OF_TURN", `${field}: ${description}`, { violations: [{ field, description }] });
}

/** ENV-STEP-009, field-case-108 */
function toolOf<State>(
  tools: ReadonlyMap<string, PreparedTool<State>>,
  name: string,
  path: string,
): PreparedTool<State> {
  const tool = tools.get(name);
  if (tool !== undefined) return tool;
  const field = `${path}.name`;
  const known = [...tools.keys()].join(", ") || "none";
  const description = `no tool "${name}" in this task; its tools: ${known}`;
  throw new Refusal("UNKNOWN_TOOL", `${field}: ${description}`, { violations: [{ field, description }] });
}

/** ENV-STEP-011 */
function checkArguments<State>(tool: PreparedTool<State>, args: object, path: string): void {
  const read = authorCall(() => tool.read(args));
  if (!("problems" in read)) return;
  const field = `${path}.arguments_json`;
  throw new Refusal("INVALID_FIELD", `${field}: ${read.problems.map(problemText).join("; ")}`, {
    violations: read.problems.map(({ path: argument, message }) => ({
      field: argument === "" ? field : `${field}.${argument}`,
      description: message,
    })),
  });
}
