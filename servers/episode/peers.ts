import {
  type AgentSessionClient,
  agentSessionClient,
  type Channel,
  type ClientCallOptions,
  type ClientOptions,
  type EnvironmentClient,
  type EpisodeClient,
  environmentClient,
  episodeClient,
  instanceOf,
  type ModelClient,
  modelClient,
} from "../../clients/index.js";
import type {
  AgentSessionServiceDescribeResponse,
  EnvironmentServiceDescribeResponse,
  EpisodeServiceDescribeResponse,
  ModelServiceDescribeResponse,
} from "../../gen/index.js";
import type { Clock } from "../runtime/clock.js";
import { type Dial, type PeerEndpoint, toldBy } from "../runtime/dial.js";
import { type Asking, PeerDescription, type Told } from "./peer-description.js";

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
  /** Episode servers that may be asked to play an episode whole. */
  readonly episodes?: Readonly<Record<string, PeerAddress>>;
  /** Names that SeedRequest.sandbox_provider may have. */
  readonly sandboxes: readonly string[];
}

/** A bound server. */
export interface Peer<C, D> {
  /** A client of it; where the server told another endpoint for what follows, at that one (ALL-SCOPE-003). */
  client(options: ClientOptions, endpoint?: PeerEndpoint): C;
  /** What it says of itself; what it said a moment ago will do. */
  describe(asking: Asking): Promise<Told<D>>;
  /** Lets it be asked anew what it is. */
  forget(): void;
}

export type EnvironmentPeer = Peer<EnvironmentClient, EnvironmentServiceDescribeResponse>;
export type AgentPeer = Peer<AgentSessionClient, AgentSessionServiceDescribeResponse>;
export type ModelPeer = Peer<ModelClient, ModelServiceDescribeResponse>;
export type EpisodePeer = Peer<EpisodeClient, EpisodeServiceDescribeResponse>;

/** The bound servers of an episode server. */
export interface Peers {
  readonly environments: ReadonlyMap<string, EnvironmentPeer>;
  readonly agents: ReadonlyMap<string, AgentPeer>;
  readonly models: ReadonlyMap<string, ModelPeer>;
  readonly episodes: ReadonlyMap<string, EpisodePeer>;
}

/** How peers are reached. */
export interface PeersOptions {
  readonly dial: Dial;
  readonly clock: Clock;
}

/** A client that can ask its server what it is. */
interface Describes<D> {
  describe(request: Record<never, never>, options: ClientCallOptions): Promise<D>;
}

/** Makes the peers of all bindings; nothing is connected yet. */
export function createPeers(bindings: Bindings, options: PeersOptions): Peers {
  function all<D, C extends Describes<D>>(
    addresses: Readonly<Record<string, PeerAddress>>,
    connect: (channel: Channel, options: ClientOptions) => C,
  ): Map<string, Peer<C, D>> {
    return new Map(
      Object.entries(addresses).map(([name, address]) => [name, createPeer<D, C>(address, connect, options)]),
    );
  }
  return {
    environments: all(bindings.environments, environmentClient),
    agents: all(bindings.agents, agentSessionClient),
    models: all(bindings.models, modelClient),
    episodes: all(bindings.episodes ?? {}, episodeClient),
  };
}

function createPeer<D, C extends Describes<D>>(
  address: PeerAddress,
  connect: (channel: Channel, options: ClientOptions) => C,
  { dial, clock }: PeersOptions,
): Peer<C, D> {
  const description = new PeerDescription<D>({
    clock,
    connected: () => dial(address).stats().connections > 0,
    ask: async (headers, signal, onInstance) =>
      await connect(dial(address), authorized({ headers }, address)).describe(
        {},
        {
          signal,
          onInfo(info) {
            const instance = instanceOf(info);
            if (instance !== undefined) onInstance(instance);
          },
        },
      ),
  });
  return {
    client(options, endpoint) {
      const all = authorized(options, address);
      if (endpoint !== undefined) return connect(dial(toldBy(address, endpoint)), all);
      const { onInstance } = all;
      return connect(dial(address), {
        ...all,
        onInstance(instance) {
          description.seen(instance);
          onInstance?.(instance);
        },
      });
    },
    describe: (asking) => description.get(asking),
    forget: () => description.forget(),
  };
}

function authorized(options: ClientOptions, { credential }: PeerAddress): ClientOptions {
  if (credential === undefined) return options;
  return { ...options, headers: { ...options.headers, authorization: `Bearer ${credential}` } };
}
