import type { MessageInitShape } from "@bufbuild/protobuf";
import type { z } from "zod";
import type { ReferenceSchema, TaskSampleSchema, TensorSpecSchema } from "../../gen/index.js";
import type { Advance, Advanced, Start, Started } from "./definition/beginning.js";
import { checkDefinition } from "./definition/check-definition.js";
import type { RewardSpec } from "./definition/reward-spec.js";
import type { StepInput, StepResult } from "./definition/stepping.js";
import type { TaskSplit } from "./definition/task-split.js";
import type { ToolDefinition, ToolInput } from "./definition/tool.js";
import type { Measured, Work } from "./definition/verifying.js";
import type { TaskSource } from "./task-source.js";

/**
 * A world: tasks, transitions, rewards. The runtime keeps every rule of the contract around it; features of the
 * contract are declared by what is defined here.
 */
export interface EnvironmentDefinition<
  Data,
  State,
  Inputs extends Record<string, ToolInput> = Record<string, ToolInput>,
> {
  /** The name that Task.environment repeats. */
  readonly name: string;
  readonly version: string;
  readonly reward: RewardSpec;
  /** `seeded`: same task, seed and actions give the same observations, rewards and verdict. */
  readonly determinism: "seeded" | "stochastic" | "unknown";
  /** Schema of Task.public_json, told in Describe. */
  readonly publicSchema?: z.ZodType;
  /** Schema of Task.privileged, told in Describe. */
  readonly privilegedSchema?: z.ZodType;
  /** Names of published row schemas that `read` takes. */
  readonly rowSchemas?: readonly string[];
  /** Kinds of blocks that `verify` reads in an answer; another one is refused by name. Absent: text and JSON. */
  readonly answerBlocks?: readonly ("text" | "json" | "blob" | "uri" | "tensor")[];
  /** Splits that the environment lists itself, by name (feature TASK_LISTING). */
  readonly splits?: Readonly<Record<string, TaskSplit>>;
  /** Reads a task, before anything begins. Throws BadTask. */
  read(source: TaskSource): Data;
  /** Begins a session. */
  seed(start: Start<Data>): Started<State> | Promise<Started<State>>;
  /** Ids of the agents of a session (feature MULTI_AGENT). Absent: one, `agent`. */
  readonly agents?: readonly string[];
  /** A step takes the actions of all who are next at once. */
  readonly simultaneousTurns?: boolean;
  /** The tools of all tasks, by name (features TOOLS, STEP). */
  readonly tools?: { readonly [Name in keyof Inputs]: ToolDefinition<Inputs[Name], State> };
  /** An agent cannot work without the tools. Absent: it cannot. */
  readonly toolsRequired?: boolean;
  /** Arguments off a tool's schema are refused (feature STRICT_ARGUMENTS). Absent: the agent reads what is wrong. */
  readonly strictArguments?: boolean;
  /** Takes a step that is no tool call (feature STEP). */
  step?(input: StepInput<State>): StepResult | Promise<StepResult>;
  /** Kinds of action that `step` takes. Absent: items. */
  readonly stepKinds?: readonly ("items" | "content")[];
  /** Tensors of an action of kind content. */
  readonly actionSpace?: readonly MessageInitShape<typeof TensorSpecSchema>[];
  /** Tensors of an observation. Absent: observations are items. */
  readonly observationSpace?: readonly MessageInitShape<typeof TensorSpecSchema>[];
  /** Begins the next stage of a task that has `stages` (feature STAGES). */
  advance?(stage: Advance<Data, State>): Advanced | Promise<Advanced>;
  /** Scores work. */
  verify(work: Work<Data, State>): Measured | Promise<Measured>;
  /**
   * Task, seed and steps are all that a verdict depends on: anybody's work can be verified without its session, by
   * another instance too (feature STATELESS_VERIFY).
   */
  readonly stateless?: boolean;
  /** Copies a session's state, sharing nothing with it (feature FORK). */
  fork?(state: State): State | Promise<State>;
  /**
   * Releases what a session holds; also what a `seed` gave too late, whose session had failed. Where it threw it is called
   * again, by a further Close and from time to time; it is never called twice at once.
   */
  close?(state: State): void | Promise<void>;
  /** A solution of a task, for oracles. */
  reference?(data: Data, state: State): MessageInitShape<typeof ReferenceSchema> | undefined;
  /** Tasks with known outcomes, by which a suite can try this server. */
  samples?(): readonly MessageInitShape<typeof TaskSampleSchema>[];
  /** Revision of what verifies; absent: the version. */
  readonly verifierRevision?: string;
  /** Bound of a step that asks for none, in milliseconds; absent: 60 s. */
  readonly stepTimeoutMs?: number;
}

/**
 * Defines an environment: `seed`, `verify`, and `step` or tools where the world has steps. Throws an Error that names a
 * key that is none.
 *
 * @example See examples/guess-the-number.ts.
 */
export function defineEnvironment<
  Data,
  State,
  Inputs extends Record<string, ToolInput> = Record<string, ToolInput>,
>(definition: EnvironmentDefinition<Data, State, Inputs>): EnvironmentDefinition<Data, State> {
  const whole = definition as unknown as EnvironmentDefinition<Data, State>;
  checkDefinition(whole);
  return whole;
}
