import type { AgentView, Item, SessionDescriptor, StopReason, ToolList, Verdict } from "../../gen/index.js";

/** How a turn of an agent ended, for a driver. */
export interface TurnEnded {
  /** Absent where the agent failed and the run lets its work be verified all the same. */
  readonly stopReason: StopReason | undefined;
  /** What the agent said and did in this turn. */
  readonly output: readonly Item[];
}

/** An agent's session that is open, for a driver. */
export interface OpenAgent {
  readonly agentId: string;
  /** Gives the agent its turn. Throws where its failure is the episode's. */
  activate(input: readonly Item[], options?: { readonly tools?: ToolList }): Promise<TurnEnded>;
  /**
   * Closes the session, reads what its gateway captured and closes that; what cannot be released is told, not thrown.
   * Throws NO_MODEL_CALLS of an agent that needed a model and never called it (EPI-RUN-010).
   */
  close(): Promise<void>;
}

/**
 * An episode, for a driver: the calls that it may order. Admission, deadlines, clean-up, leases, events, repeats and the
 * outcome are the base's (E1 to E9); a driver holds no tools, no agent logic and no scoring (E7).
 */
export interface Episode {
  /** Starts the environment's session. */
  seed(): Promise<SessionDescriptor>;
  /** Opens an agent's gateway, if it needs a model, and its session. */
  openAgent(view: AgentView): Promise<OpenAgent>;
  /** Verifies all that the agents have said and done. */
  verify(): Promise<Verdict>;
}

/** An order of calls that makes an episode. */
export interface DriverDefinition {
  /** Name by which Run asks for it. */
  readonly name: string;
  /** Agents that it plays; absent: any number. A run that binds another number is refused. */
  readonly agents?: number;
  /** Runs one episode to its verdict; whatever it throws is the episode's failure. */
  run(episode: Episode): Promise<Verdict>;
}

/** Defines a driver. */
export function defineDriver(definition: DriverDefinition): DriverDefinition {
  return definition;
}
