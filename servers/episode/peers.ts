import {
  type AgentSessionClient,
  agentSessionClient,
  type ClientOptions,
  type EnvironmentClient,
  environmentClient,
  type ModelClient,
  modelClient,
} from "../../clients/index.js";
import type { Dial, PeerEndpoint } from "../runtime/dial.js";

/** A server that may be bound, by the name that configuration gives it. */
export interface PeerAddress extends PeerEndpoint {
  /** Bearer token for it; absent: none. */
  readonly credential?: string;
}

/** What may be bound, by name. Addresses never cross the wire (EPI-DESC-001). */
export interface Bindings {
  readonly environments: Readonly<Record<string, PeerAddress>>;
  readonly agents: Readonly<Record<string, PeerAddress>>;
  readonly models: Readonly<Record<string, PeerAddress>>;
  /** Names that SeedRequest.sandbox_provider may have. */
  readonly sandboxes: readonly string[];
}

/** A bound server. */
export interface Peer<C> {
  /** A client of it; where the server told another endpoint for what follows, at that one (ALL-SCOPE-003). */
  client(options: ClientOptions, endpoint?: PeerEndpoint): C;
}

export type EnvironmentPeer = Peer<EnvironmentClient>;
export type AgentPeer = Peer<AgentSessionClient>;
export type ModelPeer = Peer<ModelClient>;

/** The bound servers of an episode server. */
export interface Peers {
  readonly environments: ReadonlyMap<string, EnvironmentPeer>;
  readonly agents: ReadonlyMap<string, AgentPeer>;
  readonly models: ReadonlyMap<string, ModelPeer>;
}

/** Makes the peers of all bindings; nothing is connected yet. */
export function createPeers(bindings: Bindings, dial: Dial): Peers {
  function all<C>(
    addresses: Readonly<Record<string, PeerAddress>>,
    connect: (channel: ReturnType<Dial>, options: ClientOptions) => C,
  ): Map<string, Peer<C>> {
    const peers = Object.entries(addresses).map(([name, address]): [string, Peer<C>] => [
      name,
      { client: (options, endpoint = address) => connect(dial(endpoint), authorized(options, address)) },
    ]);
    return new Map(peers);
  }
  return {
    environments: all(bindings.environments, environmentClient),
    agents: all(bindings.agents, agentSessionClient),
    models: all(bindings.models, modelClient),
  };
}

function authorized(options: ClientOptions, { credential }: PeerAddress): ClientOptions {
  if (credential === undefined) return options;
  return { ...options, headers: { ...options.headers, authorization: `Bearer ${credential}` } };
}
