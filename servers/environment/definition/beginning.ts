import type { MessageInitShape } from "@bufbuild/protobuf";
import type { BudgetSchema, Item, ObservationSchema } from "../../../gen/index.js";

/** What a session begins with. */
export interface Start<Data> {
  /** The task, as `read` gave it. */
  readonly data: Data;
  /** Seed of the world, where the caller gave one. */
  readonly seed: bigint | undefined;
  /** Aborts when the session is no longer wanted. */
  readonly signal: AbortSignal;
}

/** What one agent gets at the beginning of a session or of a stage. */
export interface AgentStart {
  /** What it is told first: text of a user, or items. Absent: the task's own input. */
  readonly input?: string | readonly Item[];
  /** What it sees first. */
  readonly observation?: MessageInitShape<typeof ObservationSchema>;
  /** Names of the tools that it has. Absent: all that the definition gives it. */
  readonly tools?: readonly string[];
}

/** What agents get; of an environment with one agent the fields beside `agents` are its own. */
export interface AgentStarts extends AgentStart {
  /** By agent_id, where the environment has several. One that is not named gets nothing but its tools. */
  readonly agents?: Readonly<Record<string, AgentStart>>;
  /** Who acts first. Absent: all with simultaneous turns, else the first agent of the definition. */
  readonly next?: readonly string[];
}

/** A session that has begun. */
export interface Started<State> extends AgentStarts {
  /** What the session is, to be changed by steps; the runtime only keeps it. */
  readonly state: State;
  /** The seed in use, where the world picked one itself. */
  readonly seed?: bigint;
  /** Names of the stages, this session being at the first; with `advance` only. Absent: a task of one piece. */
  readonly stages?: readonly string[];
}

/** A stage that is asked for. The one before it has its verdict. */
export interface Advance<Data, State> {
  readonly data: Data;
  readonly state: State;
  /** The stage that begins, from 1. */
  readonly stageIndex: number;
  /** Aborts when nobody will use the outcome. */
  readonly signal: AbortSignal;
}

/** A stage that has begun. */
export interface Advanced extends AgentStarts {
  /** What each agent may use in this stage. Absent: as before. */
  readonly budget?: MessageInitShape<typeof BudgetSchema>;
}
