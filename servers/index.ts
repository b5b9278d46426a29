/** What authors of environments, agents, models and drivers write with, and how their servers are run. */

export { type AgentServiceOptions, agentService } from "./agent/agent-service.js";
export {
  type AgentDefinition,
  defineAgent,
  type ModelAsk,
  type ToolCalled,
  type Turn,
  type TurnEnd,
} from "./agent/define-agent.js";
export { defineEnvironment, type EnvironmentDefinition } from "./environment/define-environment.js";
export type {
  Advance,
  Advanced,
  AgentStart,
  AgentStarts,
  Start,
  Started,
} from "./environment/definition/beginning.js";
export type { RewardSpec } from "./environment/definition/reward-spec.js";
export type {
  AgentStepResult,
  StepEffects,
  StepInput,
  StepResult,
} from "./environment/definition/stepping.js";
export type { TaskSplit } from "./environment/definition/task-split.js";
export {
  type ToolAnswer,
  type ToolArguments,
  type ToolContext,
  type ToolDefinition,
  ToolError,
  type ToolInput,
  tool,
  toolsOf,
} from "./environment/definition/tool.js";
export type { AgentWork, Measured, Work } from "./environment/definition/verifying.js";
export { environmentService } from "./environment/environment-service.js";
export { BadTask, type TaskSource } from "./environment/task-source.js";
export { verifyInWorker, type WorkerWork } from "./environment/worker/verify-in-worker.js";
export {
  type DriverDefinition,
  defineDriver,
  type Episode,
  type OpenAgent,
  type OpenAgentOptions,
  type OutsidePlay,
  type RelayOptions,
  type StageStarted,
  type StepAction,
  type StepTaken,
  type TurnEnded,
  type TurnOptions,
} from "./episode/define-driver.js";
export { type EpisodeServiceOptions, episodeService } from "./episode/episode-service.js";
export { EpisodeStore } from "./episode/episode-store.js";
export type { BegunEpisode, EpisodeWatch, WatchedEpisode } from "./episode/episode-watch.js";
export { firstInput, shown } from "./episode/first-input.js";
export type { Played } from "./episode/outside-play.js";
export { soleView } from "./episode/session-shape.js";
export { together } from "./episode/together.js";
export {
  defineModel,
  type Generated,
  type ModelCall,
  type ModelDefinition,
  type Piece,
} from "./model/define-model.js";
export { type ModelServiceOptions, modelService } from "./model/model-service.js";
export { type Clock, systemClock } from "./runtime/clock.js";
export { Channels, type Dial } from "./runtime/dial.js";
export { type FailureInit, OperationFailure } from "./runtime/failure.js";
export type { HeldService } from "./runtime/held-service.js";
export {
  assistantMessage,
  chatMessage,
  lastAnswer,
  textBlock,
  textOf,
  toolCallItem,
  toolResult,
  userMessage,
} from "./runtime/items.js";
export { defaultLimits, type Limits } from "./runtime/limits.js";
export { createLogger, type LoggedFault, type Logger, type LogLevel } from "./runtime/log.js";
export { Refusal, type RefusalOptions } from "./runtime/refusal.js";
export { createRuntime, type Runtime } from "./runtime/runtime.js";
export { type RunningServer, type ServeOptions, serve } from "./runtime/serve.js";
