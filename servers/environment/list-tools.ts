import { create } from "@bufbuild/protobuf";
import { type ListToolsRequest, type ListToolsResponse, ListToolsResponseSchema } from "../../gen/index.js";
import { invalidField } from "../runtime/refusal.js";
import type { EnvironmentContext } from "./environment-context.js";
import { partOf } from "./environment-session.js";

/** The tools that an agent has now (ENV-TOOL-001). A read (ENV-TOOL-002). */
export function listTools<Data, State>(
  { prepared, sessions }: EnvironmentContext<Data, State>,
  { sessionId, agentId }: ListToolsRequest,
): ListToolsResponse {
  if (!prepared.agentIds.includes(agentId)) {
    const known = prepared.agentIds.map((id) => `"${id}"`).join(", ");
    throw invalidField("agent_id", `there is no agent "${agentId}"; there is ${known}`);
  }
  const { tools } = partOf(sessions.open(sessionId).state, agentId);
  return create(ListToolsResponseSchema, { tools: [...tools.values()].map(({ described }) => described) });
}
