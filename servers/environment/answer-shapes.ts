import type { AnswerShape } from "./author-answer.js";
import type { Advanced, AgentStart, Started } from "./definition/beginning.js";
import type { AgentStepResult, StepResult } from "./definition/stepping.js";
import type { ToolAnswer } from "./definition/tool.js";
import type { Measured } from "./definition/verifying.js";

/** What one agent begins with. */
export const agentStartShape: AnswerShape<AgentStart> = {
  input: "text or a list of items",
  observation: "an object",
  tools: "a list",
};

/** What `seed` gives. */
export const startedShape: AnswerShape<Started<unknown>> = {
  state: "anything",
  ...agentStartShape,
  agents: "an object",
  next: "a list",
  seed: "a bigint",
  stages: "a list",
};

/** What `advance` gives. */
export const advancedShape: AnswerShape<Advanced> = {
  ...agentStartShape,
  agents: "an object",
  next: "a list",
  budget: "an object",
};

/** What came of a step for one agent. The reward is judged where its range is known. */
export const agentStepShape: AnswerShape<AgentStepResult> = {
  observation: "text or an observation",
  reward: "anything",
  terminated: "a boolean",
  truncated: "a boolean",
  info: "notes: an object",
};

const effects = {
  next: "a list",
  outcomes: "an object",
  episodeTerminated: "a boolean",
  episodeTruncated: "a boolean",
} as const;

/** What `step` gives. */
export const stepShape: AnswerShape<StepResult> = { ...agentStepShape, ...effects };

/** What a tool gives that says more than what the agent reads. */
export const toolAnswerShape: AnswerShape<ToolAnswer> = {
  content: "text, an object, or a list of blocks",
  reward: "anything",
  terminated: "a boolean",
  truncated: "a boolean",
  info: "notes: an object",
  ...effects,
};

/** What `verify` gives. */
export const measuredShape: AnswerShape<Measured> = {
  reward: "anything",
  success: "a boolean",
  components: "an object",
  metrics: "an object",
  agentRewards: "an object",
  masked: "an object",
  diagnostics: "notes: an object",
  limitHit: "text",
  stageReward: "anything",
  episodeOver: "a boolean",
};
