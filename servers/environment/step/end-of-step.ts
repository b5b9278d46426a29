import { FailureKind } from "../../../gen/index.js";
import { authorFault } from "../author-fault.js";
import type { AgentPart, EnvironmentSession } from "../environment-session.js";
import type { GatheredOutcomes } from "./gather-outcomes.js";

/** Where a session stands behind a step. */
export interface EndOfStep {
  readonly terminated: boolean;
  readonly truncated: boolean;
  /** Who acts next; nobody exactly when the episode has ended (ENV-SEED-027). */
  readonly next: readonly string[];
}

/**
 * Ends the parts of agents, and with all of them, by a limit or by the author's word the episode (ENV-STEP-005,
 * ENV-MULT-006, ENV-SEED-029). Throws a failure where nobody could act although the episode goes on.
 */
export function endStep<Data, State>(
  session: EnvironmentSession<Data, State>,
  gathered: GatheredOutcomes,
  stepIndex: number,
): EndOfStep {
  const parts = [...session.parts.values()];
  for (const [agentId, { terminated, truncated }] of gathered.byAgent) {
    const part = session.parts.get(agentId);
    if (part !== undefined) part.ended ??= terminated ? "terminated" : truncated ? "truncated" : undefined;
  }
  const over = parts.every(({ ended }) => ended !== undefined);
  const terminated = gathered.episodeTerminated || parts.every(({ ended }) => ended === "terminated");
  const truncated =
    !terminated &&
    (over || gathered.episodeTruncated || stepIndex + 1 >= (session.maxSteps ?? Number.POSITIVE_INFINITY));
  if (terminated || truncated) {
    for (const part of parts) part.ended ??= terminated ? "terminated" : "truncated";
    return { terminated, truncated, next: [] };
  }
  return { terminated, truncated, next: nextOf(session, gathered.next, parts) };
}

function nextOf<Data, State>(
  session: EnvironmentSession<Data, State>,
  named: readonly string[] | undefined,
  parts: readonly AgentPart<State>[],
): readonly string[] {
  const mayAct = (agentId: string): boolean => session.parts.get(agentId)?.ended === undefined;
  const gone = named?.find((agentId) => !mayAct(agentId));
  if (gone !== undefined) {
    throw authorFault(FailureKind.STEP_FAILED, `next names agent "${gone}", whose part has ended`);
  }
  const next = named === undefined ? session.next.filter(mayAct) : [...new Set(named)];
  if (next.length > 0) return next;
  const left = parts.filter(({ ended }) => ended === undefined).map(({ agentId }) => agentId);
  throw authorFault(
    FailureKind.STEP_FAILED,
    `nobody is next although the episode goes on: name some of ${left.join(", ")} in next, or end the episode`,
  );
}
