import { create } from "@bufbuild/protobuf";
import { ActionKind, StepReward, type TensorSpec, TensorSpecSchema } from "../../gen/index.js";
import { type Bounds, clamp, fromMs } from "../runtime/duration.js";
import { isId } from "../runtime/identity.js";
import type { EnvironmentDefinition } from "./define-environment.js";
import { checkDefinition } from "./definition/check-definition.js";
import type { RewardSpec } from "./definition/reward-spec.js";
import { type PreparedTool, prepareTool } from "./tool/prepared-tool.js";

/** The agent of an environment that names none (ENV-SEED-019). */
export const soleAgent = "agent";

/** Bound of a step where neither caller nor definition says one, in milliseconds. */
const defaultStepTimeoutMs = 60_000;

/** What every step of an environment is held to. */
export interface TurnRules {
  /** A step takes the actions of all who are next (ENV-MULT-005). */
  readonly simultaneous: boolean;
  /** Arguments off a tool's schema are refused (feature STRICT_ARGUMENTS). */
  readonly strictArguments: boolean;
}

/** What follows from a definition, made once for all sessions. */
export interface PreparedEnvironment<State> {
  /** The agents of every session, in the definition's order. */
  readonly agentIds: readonly string[];
  /** The tools of all tasks and agents, by name. */
  readonly tools: ReadonlyMap<string, PreparedTool<State>>;
  /** Kinds of action; none where there are no steps (ENV-DESC-004). */
  readonly actionKinds: readonly ActionKind[];
  readonly hasSteps: boolean;
  /** Tensors of an action; empty where none are declared. */
  readonly actionSpace: readonly TensorSpec[];
  /** What steps are held to beside where their session stands. */
  readonly turnRules: TurnRules;
  /** What a step's reward is. */
  readonly stepReward: StepReward;
  /** Bound of a step that asks for none, in milliseconds. */
  readonly stepTimeoutMs: number;
}

/** Prepares a definition for a server with these bounds of timeouts. Throws an Error that names what of it cannot be. */
export function prepareEnvironment<Data, State>(
  definition: EnvironmentDefinition<Data, State>,
  timeouts: Bounds,
): PreparedEnvironment<State> {
  // Also of one that was put together without defineEnvironment.
  checkDefinition(definition);
  const agentIds = agentIdsOf(definition);
  checkReward(definition.reward);
  const tools = new Map(
    Object.entries(definition.tools ?? {}).map(([name, tool]) => [name, prepareTool(name, tool)]),
  );
  for (const [name, { agents }] of tools) {
    const unknown = agents?.find((agentId) => !agentIds.includes(agentId));
    if (unknown !== undefined) {
      throw new Error(`tools.${name}.agents: "${unknown}" is none of the agents ${agentIds.join(", ")}`);
    }
  }
  return {
    agentIds,
    tools,
    actionKinds: actionKindsOf(definition),
    hasSteps: definition.step !== undefined || definition.tools !== undefined,
    actionSpace: (definition.actionSpace ?? []).map((spec) => create(TensorSpecSchema, spec)),
    turnRules: {
      simultaneous: definition.simultaneousTurns ?? false,
      strictArguments: definition.strictArguments ?? false,
    },
    stepReward: stepRewardOf(definition.reward),
    stepTimeoutMs: clamp(fromMs(definition.stepTimeoutMs ?? defaultStepTimeoutMs), timeouts),
  };
}

function agentIdsOf<Data, State>({ agents }: EnvironmentDefinition<Data, State>): readonly string[] {
  if (agents === undefined) return [soleAgent];
  if (agents.length === 0) throw new Error("agents: expected at least one id; leave it out for one agent");
  const bad = agents.find((agentId) => !isId(agentId));
  if (bad !== undefined) throw new Error(`agents: "${bad}" is no id: [A-Za-z0-9][A-Za-z0-9._-]{0,127}`);
  if (new Set(agents).size < agents.length) throw new Error(`agents: ${agents.join(", ")} has an id twice`);
  return [...agents];
}

/** ENV-DESC-003 */
function checkReward({ minimum, maximum, components = [] }: RewardSpec): void {
  if (!(Number.isFinite(minimum) && Number.isFinite(maximum) && minimum <= maximum)) {
    throw new Error(`reward: expected finite minimum <= maximum, found ${minimum} and ${maximum}`);
  }
  if (new Set(components).size < components.length) {
    throw new Error(`reward.components: ${components.join(", ")} has a name twice`);
  }
}

function actionKindsOf<Data, State>(definition: EnvironmentDefinition<Data, State>): ActionKind[] {
  const kinds: ActionKind[] = [];
  if (definition.step !== undefined) {
    for (const kind of definition.stepKinds ?? ["items"]) {
      kinds.push(kind === "items" ? ActionKind.ITEMS : ActionKind.CONTENT);
    }
  }
  if (definition.tools !== undefined) kinds.push(ActionKind.TOOL_CALL);
  return kinds;
}

/** TERMINAL goes with NONE, STEP and HYBRID with the others (ENV-DESC-002). */
function stepRewardOf(reward: RewardSpec): StepReward {
  if (reward.timing === "terminal") return StepReward.NONE;
  return reward.stepReward === "cumulative" ? StepReward.CUMULATIVE : StepReward.DELTA;
}
