import { checkChoice, checkKeys, type KeysOf } from "../../runtime/check-keys.js";
import type { EnvironmentDefinition } from "../define-environment.js";
import type { RewardSpec } from "./reward-spec.js";
import type { TaskSplit } from "./task-split.js";
import type { ToolDefinition, ToolInput } from "./tool.js";

const environmentKeys: KeysOf<EnvironmentDefinition<never, never>> = {
  name: true,
  version: true,
  reward: true,
  determinism: true,
  publicSchema: true,
  privilegedSchema: true,
  rowSchemas: true,
  answerBlocks: true,
  splits: true,
  read: true,
  seed: true,
  agents: true,
  simultaneousTurns: true,
  tools: true,
  toolsRequired: true,
  strictArguments: true,
  step: true,
  stepKinds: true,
  actionSpace: true,
  observationSpace: true,
  advance: true,
  verify: true,
  stateless: true,
  fork: true,
  close: true,
  reference: true,
  samples: true,
  verifierRevision: true,
  stepTimeoutMs: true,
};
const rewardKeys: KeysOf<RewardSpec> = {
  timing: true,
  stepReward: true,
  minimum: true,
  maximum: true,
  components: true,
  visible: true,
};
const splitKeys: KeysOf<TaskSplit> = { revision: true, taskset: true, size: true, at: true, indexOf: true };
const toolKeys: KeysOf<ToolDefinition<ToolInput, never>> = {
  description: true,
  input: true,
  agents: true,
  run: true,
};
const determinisms: Readonly<Record<EnvironmentDefinition<never, never>["determinism"], true>> = {
  seeded: true,
  stochastic: true,
  unknown: true,
};
const timings: Readonly<Record<RewardSpec["timing"], true>> = { terminal: true, step: true, hybrid: true };
const stepRewards: Readonly<Record<NonNullable<RewardSpec["stepReward"]>, true>> = {
  delta: true,
  cumulative: true,
};
const stepKinds = { items: true, content: true } as const;
const answerBlocks = { text: true, json: true, blob: true, uri: true, tensor: true } as const;

/**
 * Throws an Error that names what of a definition is unknown: a key, or a value of those that have a fixed few. Most
 * modules are run without a compiler's look at them, and what is misspelt would be missing without a word.
 */
export function checkDefinition<Data, State>(definition: EnvironmentDefinition<Data, State>): void {
  const { reward, splits = {}, tools = {} } = definition;
  checkKeys("defineEnvironment", definition, environmentKeys);
  checkChoice("determinism", definition.determinism, determinisms);
  checkKeys("reward", reward, rewardKeys);
  checkChoice("reward.timing", reward.timing, timings);
  if (reward.stepReward !== undefined) checkChoice("reward.stepReward", reward.stepReward, stepRewards);
  for (const kind of definition.stepKinds ?? []) checkChoice("stepKinds", kind, stepKinds);
  for (const kind of definition.answerBlocks ?? []) checkChoice("answerBlocks", kind, answerBlocks);
  for (const [name, split] of Object.entries(splits)) checkKeys(`splits.${name}`, split, splitKeys);
  for (const [name, tool] of Object.entries(tools)) checkKeys(`tools.${name}`, tool, toolKeys);
}
