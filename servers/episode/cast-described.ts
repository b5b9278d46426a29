import type { ClientOptions } from "../../clients/index.js";
import type {
  AgentSessionServiceDescribeResponse,
  EnvironmentServiceDescribeResponse,
  ModelServiceDescribeResponse,
} from "../../gen/index.js";
import type { AgentPart, Cast } from "./cast.js";

/** What all that take part say of themselves. */
export interface CastDescribed {
  readonly environment: EnvironmentServiceDescribeResponse;
  readonly agents: ReadonlyMap<string, AgentDescribed>;
}

/** What an agent says of itself, and the model that is bound to it. */
export interface AgentDescribed {
  readonly agent: AgentSessionServiceDescribeResponse;
  readonly model: ModelServiceDescribeResponse | undefined;
}

/** Whether sessions of this agent need a model. */
export function needsModel(agent: AgentSessionServiceDescribeResponse): boolean {
  return agent.modelDialects.length > 0 || agent.customModelDialects.length > 0;
}

/** Asks all that take part what they are, at the same time; a model only where its agent needs one. */
export async function describeCast(
  cast: Cast,
  client: ClientOptions,
  signal: AbortSignal,
): Promise<CastDescribed> {
  const ask = { signal };
  const describeAgent = async ({ agent, model }: AgentPart): Promise<AgentDescribed> => {
    const said = await agent.client(client).describe({}, ask);
    if (model === undefined || !needsModel(said)) return { agent: said, model: undefined };
    return { agent: said, model: await model.client(client).describe({}, ask) };
  };
  const [environment, ...agents] = await Promise.all([
    cast.environment.client(client).describe({}, ask),
    ...[...cast.agents].map(
      async ([agentId, part]): Promise<[string, AgentDescribed]> => [agentId, await describeAgent(part)],
    ),
  ]);
  return { environment, agents: new Map(agents) };
}
