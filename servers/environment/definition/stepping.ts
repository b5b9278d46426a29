import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Action, ObservationSchema } from "../../../gen/index.js";

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

/** What came of a step for one agent. */
export interface AgentStepResult {
  /** What it sees: text of a user, or an observation. */
  readonly observation?: string | MessageInitShape<typeof ObservationSchema>;
  /** What it earned, where the environment rewards steps. */
  readonly reward?: number;
  /** Its part ended by the world's own rules; with one agent: the episode. */
  readonly terminated?: boolean;
  /** Its part was cut by a limit; with one agent: the episode. */
  readonly truncated?: boolean;
  /** Notes for the controller, never for agents. */
  readonly info?: object;
}

/** What a step means for the whole session, and for agents beside the one that acted. */
export interface StepEffects {
  /** Who acts next. Absent: as before; with one agent always it. */
  readonly next?: readonly string[];
  /** What came of it for each agent, where there are several; the fields beside are those of the agent that acted. */
  readonly outcomes?: Readonly<Record<string, AgentStepResult>>;
  /** The whole episode ended by the world's own rules, whoever acted. */
  readonly episodeTerminated?: boolean;
  /** The whole episode was cut by a limit, whoever acted. */
  readonly episodeTruncated?: boolean;
}

/** What came of a step. */
export interface StepResult extends AgentStepResult, StepEffects {}
