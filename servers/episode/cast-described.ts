import type {
  AgentSessionServiceDescribeResponse,
  EnvironmentServiceDescribeResponse,
  EpisodeServiceDescribeResponse,
  ModelServiceDescribeResponse,
} from "../../gen/index.js";
import type { AgentPart, BoundCast, Cast } from "./cast.js";
import type { Asking } from "./peer-description.js";

/** What all that are bound say of themselves. */
export interface CastDescribed {
  readonly environment: EnvironmentServiceDescribeResponse;
  readonly agents: ReadonlyMap<string, AgentDescribed>;
}

/** What an agent says of itself, and the model that is bound to it. */
export interface AgentDescribed {
  readonly agent: AgentSessionServiceDescribeResponse;
  readonly model: ModelServiceDescribeResponse | undefined;
}

/** What all that take part say of themselves. */
export interface EpisodeDescribed {
  /** Absent: the episode is played elsewhere. */
  readonly bound: CastDescribed | undefined;
  /** The episode server that plays it. */
  readonly relay: EpisodeServiceDescribeResponse | undefined;
  /** All were asked just now. */
  readonly fresh: boolean;
}

/** Whether sessions of this agent need a model. */
export function needsModel(agent: AgentSessionServiceDescribeResponse): boolean {
  return agent.modelDialects.length > 0 || agent.customModelDialects.length > 0;
}

/** Asks all that take part what they are, at the same time; a model only where its agent needs one. */
export async function describeCast({ bound, relay }: Cast, asking: Asking): Promise<EpisodeDescribed> {
  const said = bound === undefined ? undefined : await describeBound(bound, asking);
  const relayed = await relay?.peer.describe(asking);
  return {
    bound: said?.described,
    relay: relayed?.said,
    fresh: (said?.fresh ?? true) && (relayed?.fresh ?? true),
  };
}

async function describeBound(
  cast: BoundCast,
  asking: Asking,
): Promise<{ readonly described: CastDescribed; readonly fresh: boolean }> {
  let fresh = true;
  const ask = async <D>(peer: DescribedPeer<D>): Promise<D> => {
    const told = await peer.describe(asking);
    fresh &&= told.fresh;
    return told.said;
  };
  const describeAgent = async ({ agent, model }: AgentPart): Promise<AgentDescribed> => {
    const said = await ask(agent);
    return { agent: said, model: model === undefined || !needsModel(said) ? undefined : await ask(model) };
  };
  const [environment, ...agents] = await Promise.all([
    ask(cast.environment),
    ...[...cast.agents].map(
      async ([agentId, part]): Promise<[string, AgentDescribed]> => [agentId, await describeAgent(part)],
    ),
  ]);
  return { described: { environment, agents: new Map(agents) }, fresh };
}

interface DescribedPeer<D> {
  describe(asking: Asking): Promise<{ readonly said: D; readonly fresh: boolean }>;
}

/** Lets all that take part be asked anew what they are. */
export function forgetCast({ bound, relay }: Cast): void {
  relay?.peer.forget();
  if (bound === undefined) return;
  bound.environment.forget();
  for (const { agent, model } of bound.agents.values()) {
    agent.forget();
    model?.forget();
  }
}
