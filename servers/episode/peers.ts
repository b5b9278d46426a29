import {
  type AgentSessionClient,
  agentSessionClient,
  type ClientOptions,
  type EnvironmentClient,
  environmentClient,
  type ModelClient,
  modelClient,
} from "../../clients/index.js";
import type {
  AgentSessionServiceDescribeResponse,
  EnvironmentServiceDescribeResponse,
  ModelServiceDescribeResponse,
} from "../../gen/index.js";
import type { Clock } from "../runtime/clock.js";
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

/** A bound server: its client and what it says of itself. */
export interface Peer<C, D> {
  readonly name: string;
  /** A client for one episode, where the server told another endpoint at that one (ALL-SCOPE-003). */
  client(options: ClientOptions, endpoint?: PeerEndpoint): C;
  /** What it says of itself, asked again once the answer is old. */
  describe(options: ClientOptions): Promise<D>;
}

export type EnvironmentPeer = Peer<EnvironmentClient, EnvironmentServiceDescribeResponse>;
export type AgentPeer = Peer<AgentSessionClient, AgentSessionServiceDescribeResponse>;
export type ModelPeer = Peer<ModelClient, ModelServiceDescribeResponse>;

/** Milliseconds for which what a server said of itself is taken to hold. */
const describedMs = 5000;

/** Milliseconds within which a server must say what it is. */
const describeMs = 10_000;

interface PeerParts<C, D> {
  readonly name: string;
  readonly address: PeerAddress;
  readonly dial: Dial;
  readonly clock: Clock;
  readonly connect: (channel: ReturnType<Dial>, options: ClientOptions) => C;
  readonly ask: (client: C) => Promise<D>;
}

function peer<C, D>(parts: PeerParts<C, D>): Peer<C, D> {
  const { address, dial, clock, connect, ask } = parts;
  let described: { readonly at: number; readonly answer: Promise<D> } | undefined;
  const client = (options: ClientOptions, endpoint: PeerEndpoint = address): C =>
    connect(dial(endpoint), {
      ...options,
      headers: {
        ...options.headers,
        ...(address.credential === undefined ? {} : { authorization: `Bearer ${address.credential}` }),
      },
    });
  return {
    name: parts.name,
    client,
    async describe(options) {
      if (described === undefined || clock.now() - described.at > describedMs) {
        const asked = { at: clock.now(), answer: ask(client(options)) };
        described = asked;
        // A failed answer is not kept.
        asked.answer.catch(() => {
          if (described === asked) described = undefined;
        });
      }
      return await described.answer;
    },
  };
}

/** The bound servers of an episode server. */
export interface Peers {
  readonly environments: ReadonlyMap<string, EnvironmentPeer>;
  readonly agents: ReadonlyMap<string, AgentPeer>;
  readonly models: ReadonlyMap<string, ModelPeer>;
}

/** Makes the peers of all bindings; nothing is connected yet. */
export function createPeers(bindings: Bindings, dial: Dial, clock: Clock): Peers {
  function all<C, D>(
    addresses: Readonly<Record<string, PeerAddress>>,
    connect: PeerParts<C, D>["connect"],
    ask: (client: C) => Promise<D>,
  ): Map<string, Peer<C, D>> {
    return new Map(
      Object.entries(addresses).map(([name, address]) => [
        name,
        peer({ name, address, dial, clock, connect, ask }),
      ]),
    );
  }
  return {
    environments: all(bindings.environments, environmentClient, (client) =>
      client.describe({}, { timeoutMs: describeMs }),
    ),
    agents: all(bindings.agents, agentSessionClient, (client) =>
      client.describe({}, { timeoutMs: describeMs }),
    ),
    models: all(bindings.models, modelClient, (client) => client.describe({}, { timeoutMs: describeMs })),
  };
}
