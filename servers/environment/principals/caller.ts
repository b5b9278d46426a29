import type { HandlerContext } from "@connectrpc/connect";
import type { StepRequest } from "../../../gen/index.js";
import { bearerToken, isController, wrongCredentials } from "../../runtime/principals.js";
import { Refusal } from "../../runtime/refusal.js";
import type { EnvironmentContext } from "../environment-context.js";
import type { AgentCaller } from "./agent-tokens.js";

/** Who calls: an agent of a session, or undefined: the controller, who may do everything. */
export type Caller = AgentCaller | undefined;

/**
 * Tells who makes the operations of a call, each time anew, since a token may die during a stream. Throws CREDENTIALS
 * for a token that is nobody's, or nobody's any more.
 */
export function callerOf<Data, State>(
  { runtime: { principals }, tokens, sessions }: EnvironmentContext<Data, State>,
  call: Pick<HandlerContext, "requestHeader">,
): () => Caller {
  if (principals === undefined) return () => undefined;
  const token = bearerToken(call);
  if (isController(principals, token)) return () => undefined;
  return () => {
    const caller = token === undefined ? undefined : tokens.find(token);
    // A session that has ended and is not released yet has no agents any more.
    if (caller === undefined || sessions.known(caller.sessionId).end !== undefined) throw wrongCredentials();
    return caller;
  };
}

/** Refuses what is another session's or agent's, known or not, with the same words (ALL-PRIN-004, ALL-PRIN-011). */
export function checkOwn(caller: Caller, sessionId: string, agentIds: readonly string[]): void {
  if (caller === undefined) return;
  if (sessionId === caller.sessionId && agentIds.every((agentId) => agentId === caller.agentId)) return;
  throw new Refusal(
    "PERMISSION",
    "an agent's token opens its own session, for its own agent_id, and nothing else",
  );
}

/** Refuses a step of another session or agent. */
export function checkOwnStep(caller: Caller, { sessionId, actions }: StepRequest): void {
  if (caller === undefined) return;
  checkOwn(
    caller,
    sessionId,
    actions.map(({ agentId }) => agentId),
  );
}

/** Refuses to an agent what is the controller's (ALL-PRIN-002). */
export function checkController(caller: Caller): void {
  if (caller === undefined) return;
  throw new Refusal(
    "PERMISSION",
    "an agent's token opens ListTools, Step and StepStream only; this is the controller's",
  );
}
