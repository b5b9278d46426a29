import { toolResultItem } from "../../runtime/items.js";
import type { EnvironmentContext } from "../environment-context.js";
import { type EnvironmentSession, partOf, worldOf } from "../environment-session.js";
import { runTool } from "../tool/run-tool.js";
import type { ReadAction } from "./check-step.js";
import { GatheredOutcomes } from "./gather-outcomes.js";

/** What a step is taken with. */
export interface Acting<Data, State> {
  readonly session: EnvironmentSession<Data, State>;
  readonly stepIndex: number;
  readonly signal: AbortSignal;
}

/**
 * Has an author's functions take a step: its tool calls one by one in the order of the actions, then the rest at once.
 * Throws whatever they throw.
 */
export async function act<Data, State>(
  { definition, prepared }: EnvironmentContext<Data, State>,
  actions: readonly ReadAction[],
  { session, stepIndex, signal }: Acting<Data, State>,
): Promise<GatheredOutcomes> {
  const { state } = worldOf(session);
  const gathered = new GatheredOutcomes(prepared);
  for (const { action, call } of actions) {
    if (call === undefined) continue;
    const { agentId } = action;
    const tool = partOf(session, agentId).tools.get(call.call.name);
    if (tool === undefined) throw new Error(`tool ${call.call.name} vanished between check and run`);
    const { result, ...rest } = await runTool(tool, call, { state, agentId, signal });
    gathered.add([agentId], { ...rest, observation: { items: [toolResultItem(result)] } });
  }
  const others = actions.filter(({ call }) => call === undefined).map(({ action }) => action);
  if (others.length > 0) {
    if (definition.step === undefined) throw new Error("an action that no function takes passed the checks");
    const result = await definition.step({ state, actions: others, stepIndex, signal });
    gathered.add(
      others.map(({ agentId }) => agentId),
      result,
    );
  }
  return gathered;
}
