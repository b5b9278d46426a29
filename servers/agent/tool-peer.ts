import { create } from "@bufbuild/protobuf";
import { CallError, type EnvironmentClient, environmentClient } from "../../clients/index.js";
import {
  ActionSchema,
  Boundary,
  FailureKind,
  type Item,
  Retry,
  type SkippedAccess,
  SkippedAccessSchema,
  type StepAccess,
  type ToolAccess,
  type ToolCall,
} from "../../gen/index.js";
import type { Dial } from "../runtime/dial.js";
import { OperationFailure } from "../runtime/failure.js";
import { toolResult, toolResultItem } from "../runtime/items.js";
import { causeOf, failureOf } from "../runtime/peer-failure.js";

/** How a step by a tool call ended. */
export interface Stepped {
  /** What the environment answered to the call; an error result where it refused it. */
  readonly result: Item;
  /** The episode is over: the step ended it, or was refused because it had ended before. */
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

/**
 * Tries each access. A required one that cannot be used fails Open (AGT-OPEN-002), an optional one is skipped and told
 * (AGT-OPEN-003).
 */
export async function openTools(
  accesses: readonly ToolAccess[],
  dial: Dial,
): Promise<{ readonly peers: ToolPeer[]; readonly skipped: SkippedAccess[] }> {
  const peers: ToolPeer[] = [];
  const skipped: SkippedAccess[] = [];
  for (const access of accesses) {
    try {
      peers.push(await openTool(access, dial));
    } catch (error) {
      const reason = error instanceof Error ? error.message : "cannot be used";
      if (access.required) {
        throw new OperationFailure({
          kind: FailureKind.TOOL_UNREACHABLE,
          retry: Retry.NEW_ATTEMPT,
          reason: `required tool access "${access.name}" cannot be used: ${reason}`,
          ...(error instanceof CallError ? { causes: [causeOf(error, Boundary.ENVIRONMENT)] } : {}),
        });
      }
      skipped.push(create(SkippedAccessSchema, { name: access.name, reason }));
    }
  }
  return { peers, skipped };
}

async function openTool(access: ToolAccess, dial: Dial): Promise<ToolPeer> {
  switch (access.way.case) {
    case "step":
      return await stepPeer(access.way.value, dial);
    case "mcpHttp":
    case "mcpStdio":
      throw new Error("this agent reaches tools by Step only");
    case undefined:
      throw new Error("a way that is not known here");
  }
}

async function stepPeer(access: StepAccess, dial: Dial): Promise<ToolPeer> {
  if (access.endpoint === undefined) throw new Error("the access names no endpoint");
  const client = environmentClient(dial(access.endpoint), {
    ...(access.bearerToken === "" ? {} : { headers: { authorization: `Bearer ${access.bearerToken}` } }),
  });
  await client.listTools({ sessionId: access.sessionId, agentId: access.agentId }, { timeoutMs: probeMs });
  return { call: (call, options) => step(client, access, { call, ...options }) };
}

async function step(
  client: EnvironmentClient,
  access: StepAccess,
  { call, actionId, signal }: { call: ToolCall; actionId: string; signal: AbortSignal },
): Promise<Stepped> {
  try {
    const response = await client.step(
      {
        sessionId: access.sessionId,
        name: { case: "actionId", value: actionId },
        actions: [create(ActionSchema, { agentId: access.agentId, kind: { case: "toolCall", value: call } })],
      },
      { signal },
    );
    const items =
      response.outcomes.find(({ agentId }) => agentId === access.agentId)?.observation?.items ?? [];
    const result = items.find(({ kind }) => kind.case === "toolResult" && kind.value.callId === call.callId);
    return {
      result: result ?? toolResultItem(toolResult(call.callId, "")),
      ended: response.terminated ? "now" : "no",
    };
  } catch (error) {
    if (error instanceof CallError && error.isRefusal) {
      if (error.reason === "EPISODE_ENDED") {
        return {
          result: toolResultItem(toolResult(call.callId, "The episode is over.", true)),
          ended: "before",
        };
      }
      // What the environment refuses as malformed is the model's to correct, not a failure (field-case-087).
      if (error.reason === "INVALID_FIELD" || error.reason === "UNKNOWN_TOOL") {
        return { result: toolResultItem(toolResult(call.callId, error.rawMessage, true)), ended: "no" };
      }
    }
    throw failureOf(error, { boundary: Boundary.ENVIRONMENT, lost: FailureKind.UNAVAILABLE });
  }
}
