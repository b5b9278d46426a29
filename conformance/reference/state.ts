import type { TroubleMemory } from "./trouble.js";

/** How many agents a reference world has, and how they take their turns. */
export type ReferenceAgents = "one" | "turns" | "together";

/** Ids of the agents of a world of several. */
export const playerIds = ["a", "b"] as const;

/** What a session is. */
export interface State extends TroubleMemory {
  readonly agents: ReferenceAgents;
  /** A move passes the turn on. */
  readonly passing: boolean;
  readonly target: number;
  count: number;
  /** What the answer of each stage earned so far, by the stage's index. */
  readonly earned: Map<number, number>;
  /** Agents whose part has ended. */
  readonly gone: Set<string>;
  /** Releases that fail before one that does not. */
  unreleased: number;
}

/** What an agent sees of it. */
export const seen = ({ count }: State): string => `count=${count}`;

/** A state that shares nothing with this one. */
export function copyState(state: State): State {
  return { ...state, earned: new Map(state.earned), gone: new Set(state.gone) };
}
