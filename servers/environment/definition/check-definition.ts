import { checkChoice, checkKeys, checkObject, type KeysOf, listOf } from "../../runtime/check-keys.js";
import type { EnvironmentDefinition } from "../define-environment.js";
import type { RewardSpec } from "./reward-spec.js";
import type { TaskSplit } from "./task-split.js";
import type { ToolDefinition, ToolInput } from "./tool.js";

const environmentKeys: KeysOf<EnvironmentDefinition<never, never>> = {
  name: "required",
  version: "required",
  reward: "required",
  determinism: "required",
  publicSchema: "optional",
  privilegedSchema: "optional",
  rowSchemas: "optional",
  answerBlocks: "optional",
  splits: "optional",
  read: "required",
  seed: "required",
  agents: "optional",
  simultaneousTurns: "optional",
  tools: "optional",
  toolsRequired: "optional",
  strictArguments: "optional",
  step: "optional",
  stepKinds: "optional",
  actionSpace: "optional",
  observationSpace: "optional",
  advance: "optional",
  verify: "required",
  stateless: "optional",
  fork: "optional",
  close: "optional",
  reference: "optional",
  samples: "optional",
  verifierRevision: "optional",
  stepTimeoutMs: "optional",
};
const rewardKeys: KeysOf<RewardSpec> = {
  timing: "required",
  stepReward: "optional",
  minimum: "required",
  maximum: "required",
  components: "optional",
  visible: "optional",
};
const splitKeys: KeysOf<TaskSplit> = {
  revision: "required",
  taskset: "optional",
  size: "optional",
  at: "required",
  indexOf: "optional",
};
const toolKeys: KeysOf<ToolDefinition<ToolInput, never>> = {
  description: "required",
  input: "required",
  agents: "optional",
  run: "required",
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
 * Throws an Error that names what of a definition is missing or unknown: a key, or a value of those that have a fixed
 * few. Most modules are run without a compiler's look at them, and what is misspelt would be missing without a word.
 */
export function checkDefinition<Data, State>(definition: EnvironmentDefinition<Data, State>): void {
  checkKeys("defineEnvironment", definition, environmentKeys);
  const { reward, splits = {}, tools = {} } = definition;
  checkChoice("determinism", definition.determinism, determinisms);
  checkKeys("reward", reward, rewardKeys);
  checkChoice("reward.timing", reward.timing, timings);
  if (reward.stepReward !== undefined) checkChoice("reward.stepReward", reward.stepReward, stepRewards);
  for (const kind of listOf("stepKinds", definition.stepKinds)) checkChoice("stepKinds", kind, stepKinds);
  for (const kind of listOf("answerBlocks", definition.answerBlocks))
    checkChoice("answerBlocks", kind, answerBlocks);
  checkObject("splits", splits);
  for (const [name, split] of Object.entries(splits)) checkKeys(`splits.${name}`, split, splitKeys);
  checkObject("tools", tools);
  for (const [name, tool] of Object.entries(tools)) checkKeys(`tools.${name}`, tool, toolKeys);
}
