import type { MessageInitShape } from "@bufbuild/protobuf";
import type { z } from "zod";
import type {
  Action,
  Artifact,
  Item,
  ObservationSchema,
  ReferenceSchema,
  Submission,
  TaskSampleSchema,
} from "../../gen/index.js";
import type { TaskSource } from "./task-source.js";
import type { ToolDefinition } from "./tool.js";

/** What rewards an environment gives. */
export interface RewardSpec {
  /** `terminal`: in the verdict only; `step`: on every step; `hybrid`: on steps, and the verdict adds to them. */
  readonly timing: "terminal" | "step" | "hybrid";
  /** What a step's reward is; only with `step` and `hybrid`. */
  readonly stepReward?: "delta" | "cumulative";
  /** Least possible reward of a step or an episode. */
  readonly minimum: number;
  /** Greatest possible reward of a step or an episode. */
  readonly maximum: number;
  /** Names of the verdict's components. */
  readonly components?: readonly string[];
  /** Agents see rewards in the answers to their own calls. */
  readonly visible?: boolean;
}

/** What a session begins with. */
export interface Start<Data> {
  /** The task, as `read` gave it. */
  readonly data: Data;
  /** Seed of the world, where the caller gave one. */
  readonly seed: bigint | undefined;
  /** Aborts when the session is no longer wanted. */
  readonly signal: AbortSignal;
}

/** A session that has begun. */
export interface Started<State> {
  /** What the session is, to be changed by steps; the runtime only keeps it. */
  readonly state: State;
  /** What the agent is told first: text of a user, or items. Absent: the task's own input. */
  readonly input?: string | readonly Item[];
  /** What the agent sees first. */
  readonly observation?: MessageInitShape<typeof ObservationSchema>;
  /** Names of the tools that this task has. Absent: all. */
  readonly tools?: readonly string[];
  /** The seed in use, where the world picked one itself. */
  readonly seed?: bigint;
}

/** A step that is asked for. Its actions are of the declared kinds, by agents whose turn it is. */
export interface StepInput<State> {
  readonly state: State;
  /** One action for each agent that acts. */
  readonly actions: readonly Action[];
  /** The step's number, from 0. */
  readonly stepIndex: number;
  /** Aborts when nobody will use the outcome. */
  readonly signal: AbortSignal;
}

/** What came of a step. */
export interface StepResult {
  /** What the agent sees: text of a user, or an observation. */
  readonly observation?: string | MessageInitShape<typeof ObservationSchema>;
  /** What the step earned, where the environment rewards steps. */
  readonly reward?: number;
  /** The episode ended by the world's own rules. */
  readonly terminated?: boolean;
  /** The episode was cut by a limit. */
  readonly truncated?: boolean;
  /** Notes for the controller, never for agents. */
  readonly info?: object;
}

/** Work that is to be verified. */
export interface Work<Data, State> {
  readonly data: Data;
  readonly state: State;
  /** Text of the agent's last chat message; empty where it said nothing. */
  readonly answer: string;
  /** All that the agent said and did. */
  readonly items: readonly Item[];
  /** What it handed in beside, by name. */
  readonly artifacts: ReadonlyMap<string, Artifact>;
  /** The submission whole. */
  readonly submission: Submission;
  /** No step follows. */
  readonly final: boolean;
  /** Steps that were taken. */
  readonly steps: number;
  /** Sum (delta) or last (cumulative) of the step rewards; 0 without. */
  readonly stepRewards: number;
  /** Aborts when nobody will use the verdict. */
  readonly signal: AbortSignal;
}

/** What a verification measured. Throw OperationFailure where nothing could be measured: a failure is never a number. */
export interface Measured {
  /** The episode's reward, already combined. Absent only with `masked`. */
  readonly reward?: number;
  /** Named parts, for reports. */
  readonly components?: Readonly<Record<string, number>>;
  /** The task was solved. */
  readonly success?: boolean;
  /** No valid measurement, and why. */
  readonly masked?: { readonly reason: string; readonly explanation?: string };
  /** Further numbers for reports. */
  readonly metrics?: Readonly<Record<string, number>>;
  /** How the verdict came about, for people; no privileged text. */
  readonly diagnostics?: object;
  /** The limit that ended the submission's own code. */
  readonly limitHit?: "time" | "memory" | "processes" | "output";
}

/** A world: tasks, transitions, rewards. The runtime keeps every rule of the contract around it. */
export interface EnvironmentDefinition<Data, State> {
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
  /** Reads a task, before anything begins. Throws BadTask. */
  read(source: TaskSource): Data;
  /** Begins a session. */
  seed(start: Start<Data>): Started<State> | Promise<Started<State>>;
  /** The tools of all tasks, by name. */
  readonly tools?: Readonly<Record<string, ToolDefinition<State>>>;
  /** An agent cannot work without the tools. Absent: it cannot. */
  readonly toolsRequired?: boolean;
  /** Takes a step that is no tool call. */
  step?(input: StepInput<State>): StepResult | Promise<StepResult>;
  /** Kinds of action that `step` takes. */
  readonly stepKinds?: readonly ("items" | "content")[];
  /** Scores work. */
  verify(work: Work<Data, State>): Measured | Promise<Measured>;
  /** Releases what a session holds. */
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
 * Defines an environment: `seed`, `verify`, and `step` or tools where the world has steps.
 *
 * @example See examples/guess-the-number.ts.
 */
export function defineEnvironment<Data, State>(
  definition: EnvironmentDefinition<Data, State>,
): EnvironmentDefinition<Data, State> {
  return definition;
}
