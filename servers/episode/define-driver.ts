import type { MessageInitShape } from "@bufbuild/protobuf";
import type { z } from "zod";
import type {
  ActionSchema,
  AgentOutcome,
  AgentView,
  EpisodeId,
  Feature,
  Item,
  RunRequest,
  SessionDescriptor,
  StageVerdict,
  StopReason,
  ToolList,
  Verdict,
} from "../../gen/index.js";
import { checkKeys, type KeysOf } from "../runtime/check-keys.js";
import type { Played } from "./outside-play.js";

/** How a turn of an agent ended, for a driver. */
export interface TurnEnded {
  readonly agentId: string;
  /** Absent where the agent failed and the run lets its work be verified all the same. */
  readonly stopReason: StopReason | undefined;
  /** What the agent said and did in this turn. */
  readonly output: readonly Item[];
  /** It ended by itself, with more turns to come; false: a budget, Stop, its failure or the world ended it. */
  readonly goesOn: boolean;
}

/** What a driver may say of an agent that it opens. */
export interface OpenAgentOptions {
  /**
   * It plays a part of the world, such as a simulated user: that it fails, or cannot go on, says nothing about the
   * others' work, so it is the episode's failure whatever `on_agent_failure` says, and never a score.
   */
  readonly partOfWorld?: boolean;
}

/** What a driver may say of a turn. */
export interface TurnOptions {
  /** Tools that replace the agent's from now on. */
  readonly tools?: ToolList;
  /** Aborts when nobody wants the turn any more. */
  readonly signal?: AbortSignal;
}

/** An agent's session that is open, for a driver. */
export interface OpenAgent {
  readonly agentId: string;
  /**
   * Gives the agent its turn, within what the task's budget has left; where nothing is left, none, with the stop reason
   * that says so. Throws where its failure is the episode's.
   */
  activate(input: readonly Item[], options?: TurnOptions): Promise<TurnEnded>;
  /**
   * Closes the session, reads what its gateway captured and closes that; what cannot be released is told, not thrown.
   * Throws NO_MODEL_CALLS of an agent that needed a model, had a turn and never called it (EPI-RUN-010).
   */
  close(): Promise<void>;
}

/** What an agent does in a step. */
export type StepAction = Omit<MessageInitShape<typeof ActionSchema>, "$typeName">;

/** A stage of a task that has begun, for a driver. */
export interface StageStarted {
  /** From 0; Seed began that. */
  readonly stageIndex: number;
  /** All agents of the session: what they get for this stage, with accesses and box as Seed told them. */
  readonly agents: readonly AgentView[];
  /** Who acts first. */
  readonly nextAgents: readonly string[];
}

/** What came of a step, for a driver. */
export interface StepTaken {
  readonly outcomes: readonly AgentOutcome[];
  /** Who acts next; empty: the world has ended, perhaps before this step. */
  readonly nextAgents: readonly string[];
}

/** Whom a driver asks to play an episode whole. */
export interface RelayOptions {
  /** Its driver; empty: its first. */
  readonly driver: string;
  /** Options of its driver: JSON object text, or empty. */
  readonly optionsJson: string;
}

/** What an episode is played with that does not speak the contract. */
export interface OutsidePlay {
  readonly episodeId: EpisodeId;
  readonly request: RunRequest;
  /** Headers for each call that is made for it: its place in a trace, where one is kept. */
  readonly headers: Readonly<Record<string, string>>;
  /** Aborts when nobody wants the answer any more: out of time, or stopped. */
  readonly signal: AbortSignal;
}

/**
 * An episode, for a driver: the calls that it may order. Admission, deadlines, clean-up, leases, events, repeats and the
 * outcome are the base's (E1 to E9); a driver holds no tools, no agent logic and no scoring (E7).
 */
export interface Episode {
  /** Starts the environment's session. */
  seed(): Promise<SessionDescriptor>;
  /** Opens an agent's gateway, if it needs a model, and its session. */
  openAgent(view: AgentView, options?: OpenAgentOptions): Promise<OpenAgent>;
  /** Steps the environment with what agents do. Needs its feature STEP. */
  step(actions: readonly StepAction[]): Promise<StepTaken>;
  /**
   * Verifies the stage that the session is at, which lives on; what was measured is told in the trajectory. For a
   * session that lists stages (feature STAGES).
   */
  verifyStage(): Promise<StageVerdict>;
  /** Begins the next stage; the one before must have its verdict. */
  advance(): Promise<StageStarted>;
  /** Verifies all that the agents have said and done, for good. */
  verify(): Promise<Verdict>;
  /** Has the episode played by the EpisodeService that `elsewhere` named. */
  relay(options: RelayOptions): Promise<Verdict>;
  /** Has the episode played by something that does not speak the contract, within the episode's time. */
  playOutside(play: (what: OutsidePlay) => Promise<Played>): Promise<Verdict>;
}

/** An order of calls that makes an episode. */
export interface DriverDefinition<Options = unknown> {
  /** Name by which Run asks for it. */
  readonly name: string;
  /** Agents that it plays; absent: any number. A run that binds another number is refused. */
  readonly agents?: number;
  /** What the environment must declare; a pair that lacks it is refused before anything is started (EPI-RUN-017). */
  readonly needs?: readonly Feature[];
  /** What each agent must declare; a pair that lacks it is refused likewise. */
  agentNeeds?(options: Options): readonly Feature[];
  /**
   * Schema of its options: those of the server's configuration, and over them Run's options_json. What does not fit is
   * refused. Absent: it has none.
   */
  readonly options?: z.ZodType<Options>;
  /** Options that only the server's configuration may set: addresses, credentials (EPI-RUN-013). */
  readonly configured?: readonly string[];
  /**
   * Set for a driver whose episodes are played elsewhere: the names of a run are known there, nobody is bound here.
   * Answers which of the bound episode servers plays; undefined: it is none.
   */
  elsewhere?(options: Options, bound: readonly string[]): string | undefined;
  /** Runs one episode to its verdict; whatever it throws is the episode's failure. */
  run(episode: Episode, options: Options): Promise<Verdict>;
}

const driverKeys: KeysOf<DriverDefinition<never>> = {
  name: "required",
  agents: "optional",
  needs: "optional",
  agentNeeds: "optional",
  options: "optional",
  configured: "optional",
  elsewhere: "optional",
  run: "required",
};

/** Defines a driver. Throws an Error that names a key that is none, or that is missing. */
export function defineDriver<Options = Readonly<Record<string, never>>>(
  definition: DriverDefinition<Options>,
): DriverDefinition<Options> {
  checkKeys("defineDriver", definition, driverKeys);
  return definition;
}
