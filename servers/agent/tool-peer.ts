import { create } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { CallError, type Channel, type EnvironmentClient, environmentClient } from "../../clients/index.js";
import {
  ActionSchema,
  type AgentOutcome,
  Boundary,
  FailureKind,
  type Item,
  type StepAccess,
  type StepResponse,
  type ToolCall,
} from "../../gen/index.js";
import { toolResult, toolResultItem } from "../runtime/items.js";
import { accessHeaders, failureOfAccess } from "./granted-access.js";

/** How a step by a tool call ended. */
export interface Stepped {
  /** What the environment said: the call's result first; an error result where the call was refused. */
  readonly items: readonly Item[];
  /** The agent's part, or the episode, is over: the step ended it, or was refused because it had ended before. */
  readonly ended: "no" | "now" | "before";
}

/** A way to an agent's tools that works. */
export interface ToolPeer {
  /** Calls a tool once; `actionId` names the step, and a repeat keeps it (AGT-ACT-029). */
  call(
    call: ToolCall,
    options: { readonly actionId: string; readonly signal: AbortSignal },
  ): Promise<Stepped>;
}

/** Milliseconds within which a way to tools must prove that it works. */
const probeMs = 10_000;

/** The tools of a session by Step of its environment. Throws CallError where they cannot be reached. */
export async function stepPeer(
  access: StepAccess,
  { channel, key, signal }: { channel: Channel; key: string; signal: AbortSignal },
): Promise<ToolPeer> {
  const client = environmentClient(channel, { headers: accessHeaders(access.bearerToken, key) });
  try {
    const { sessionId, agentId } = access;
    await client.listTools({ sessionId, agentId }, { timeoutMs: probeMs, signal });
  } catch (error) {
    // Steps without the feature TOOLS: whoever says so can be reached.
    if (!(error instanceof CallError && error.code === Code.Unimplemented)) throw error;
  }
  return { call: (call, options) => step(client, access, { call, ...options }) };
}

async function step(
  client: EnvironmentClient,
  access: StepAccess,
  { call, actionId, signal }: { call: ToolCall; actionId: string; signal: AbortSignal },
): Promise<Stepped> {
  const { sessionId, agentId } = access;
  const actions = [create(ActionSchema, { agentId, kind: { case: "toolCall", value: call } })];
  try {
    const name = { case: "actionId", value: actionId } as const;
    const response = await client.step({ sessionId, name, actions }, { signal });
    return {
      items: itemsFor(call, response, agentId),
      ended: isOver(response) || isOver(outcomeOf(response, agentId)) ? "now" : "no",
    };
  } catch (error) {
    const refused = error instanceof CallError ? refusedCall(error, call) : undefined;
    if (refused !== undefined) return refused;
    throw failureOfAccess(error, { boundary: Boundary.ENVIRONMENT, lost: FailureKind.UNAVAILABLE });
  }
}

/** What the environment answered to a call: its result first, whatever else it said to the agent behind it. */
function itemsFor(call: ToolCall, response: StepResponse, agentId: string): Item[] {
  const observation = outcomeOf(response, agentId)?.observation;
  const items = observation?.items ?? [];
  const result = items.find(({ kind }) => kind.case === "toolResult" && kind.value.callId === call.callId);
  if (result !== undefined) return [result, ...items.filter((item) => item !== result)];
  // A world that answers tool calls with content of its own: the model still gets a result to its call.
  const made = toolResult(call.callId, "");
  if (observation !== undefined && observation.content.length > 0) made.content = observation.content;
  return [toolResultItem(made), ...items];
}

function outcomeOf({ outcomes }: StepResponse, agentId: string): AgentOutcome | undefined {
  return outcomes.find((outcome) => outcome.agentId === agentId);
}

/** Whether the episode, or one agent's part in it, has ended (ENV-MULT-006). */
function isOver(ending: Pick<AgentOutcome, "terminated" | "truncated"> | undefined): boolean {
  return ending !== undefined && (ending.terminated || ending.truncated);
}

/** A refusal that says something about the episode or about the call itself; others are failures. */
function refusedCall(error: CallError, call: ToolCall): Stepped | undefined {
  switch (error.reason) {
    case "EPISODE_ENDED":
      return {
        items: [toolResultItem(toolResult(call.callId, "The episode is over.", true))],
        ended: "before",
      };
    // What the environment refuses as malformed is the model's to correct (AGT-ACT-007, field-case-087).
    case "INVALID_FIELD":
    case "UNKNOWN_TOOL":
    // Among several agents it may wait, or hand over (ENV-MULT-003).
    case "OUT_OF_TURN":
      return { items: [toolResultItem(toolResult(call.callId, error.rawMessage, true))], ended: "no" };
    default:
      return undefined;
  }
}
