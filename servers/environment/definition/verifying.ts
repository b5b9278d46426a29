import type { AgentEnd, Artifact, Item, Submission } from "../../../gen/index.js";

/** What one agent handed in. */
export interface AgentWork {
  /** Text of its last chat message; empty where it said nothing. */
  readonly answer: string;
  /** All that it said and did. */
  readonly items: readonly Item[];
  /** What it handed in beside, by name. */
  readonly artifacts: ReadonlyMap<string, Artifact>;
  /** How its turns ended, where the caller knows. */
  readonly end: AgentEnd | undefined;
  /** Sum (delta) or last (cumulative) of its step rewards; 0 without. */
  readonly stepRewards: number;
}

/**
 * Work that is to be verified. With one agent its own work stands here; with several, see `agents`, and here stand the
 * empty work and the step rewards of all.
 */
export interface Work<Data, State> extends AgentWork {
  readonly data: Data;
  readonly state: State;
  /** The work of each agent, by agent_id; of one that handed in nothing the empty work. */
  readonly agents: ReadonlyMap<string, AgentWork>;
  /** The submission whole. */
  readonly submission: Submission;
  /** No step follows. */
  readonly final: boolean;
  /** The stage that is verified, from 0; 0 in a task of one piece. */
  readonly stageIndex: number;
  /** Steps that were taken. */
  readonly steps: number;
  /** Aborts when nobody will use the verdict. */
  readonly signal: AbortSignal;
}

/** What a verification measured. Throw OperationFailure where nothing could be measured: a failure is never a number. */
export interface Measured {
  /** The whole episode's reward, that of its steps already in it. Absent only with `masked`. */
  readonly reward?: number;
  /** Each agent's own reward, where there are several. */
  readonly agentRewards?: Readonly<Record<string, number>>;
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
  /** With stages: what this stage earned by itself. */
  readonly stageReward?: number;
  /** With stages: no stage follows. Absent: none does after the last. */
  readonly episodeOver?: boolean;
}
