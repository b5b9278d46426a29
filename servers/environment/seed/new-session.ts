import type { ReadStarts } from "../agent-starts.js";
import type { AgentPart, EnvironmentSession, World } from "../environment-session.js";
import type { StageProgress } from "../stages/stage-progress.js";

/** What a session begins with. */
export interface NewSession<Data, State> {
  readonly world: World<Data, State>;
  readonly starts: ReadStarts<State>;
  readonly stages: StageProgress | undefined;
  readonly taskDigest: string;
  readonly maxSteps: number | undefined;
  readonly verifyTimeoutMs: number;
}

/** A session before its first step. */
export function newSession<Data, State>({
  starts,
  ...given
}: NewSession<Data, State>): EnvironmentSession<Data, State> {
  const parts = new Map(
    starts.agents.map(({ agentId, tools, observation }): [string, AgentPart<State>] => [
      agentId,
      { agentId, tools, ended: undefined, stepRewards: 0, observation },
    ]),
  );
  return {
    ...given,
    parts,
    next: starts.next,
    ended: false,
    fenced: false,
    verified: false,
    submitted: undefined,
  };
}
