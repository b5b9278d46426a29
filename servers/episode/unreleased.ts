import type { ClientCallOptions } from "../../clients/index.js";
import { Boundary, type CloseReceipt, type ResourceIntent, ResourceKind } from "../../gen/index.js";
import { unknownName } from "../runtime/refusal.js";
import type { Owned } from "./clean-up-stack.js";
import { episodeHeaders } from "./episode-run.js";
import type { Peers } from "./peers.js";

/** Refuses intents at servers that are not bound here. */
export function checkUnreleased(peers: Peers, intents: readonly ResourceIntent[]): void {
  for (const [i, { kind, binding }] of intents.entries()) {
    const known = boundTo(peers, kind);
    if (!known.has(binding)) throw unknownName(`unreleased[${i}].binding`, binding, [...known.keys()]);
  }
}

function boundTo(peers: Peers, kind: ResourceKind): ReadonlyMap<string, unknown> {
  switch (kind) {
    case ResourceKind.ENVIRONMENT_SESSION:
      return peers.environments;
    case ResourceKind.AGENT_SESSION:
      return peers.agents;
    case ResourceKind.GATEWAY:
      return peers.models;
    default:
      return new Map();
  }
}

/** Intents of earlier attempts, each once, as something that must be released. */
export function ownedOf(peers: Peers, intents: readonly ResourceIntent[]): Owned[] {
  const distinct = new Map(
    intents.map((intent) => [`${intent.kind} ${intent.binding} ${intent.id}`, intent]),
  );
  return [...distinct.values()].map((intent) => ({
    intent,
    boundary: boundaryOf(intent.kind),
    release: (options) => release(peers, intent, options),
  }));
}

function boundaryOf(kind: ResourceKind): Boundary {
  switch (kind) {
    case ResourceKind.AGENT_SESSION:
      return Boundary.AGENT;
    case ResourceKind.GATEWAY:
      return Boundary.MODEL;
    default:
      return Boundary.ENVIRONMENT;
  }
}

async function release(
  peers: Peers,
  { kind, binding, id, episodeId, endpoint }: ResourceIntent,
  options: ClientCallOptions,
): Promise<CloseReceipt | undefined> {
  const ids = episodeId === undefined ? {} : { episodeId };
  const client = episodeId === undefined ? {} : { headers: episodeHeaders(episodeId) };
  switch (kind) {
    case ResourceKind.ENVIRONMENT_SESSION: {
      const peer = peers.environments.get(binding)?.client(client, endpoint);
      return (await peer?.close({ sessionId: id, ...ids }, options))?.receipt;
    }
    case ResourceKind.AGENT_SESSION: {
      const peer = peers.agents.get(binding)?.client(client, endpoint);
      return (await peer?.close({ sessionId: id, ...ids }, options))?.receipt;
    }
    case ResourceKind.GATEWAY: {
      const peer = peers.models.get(binding)?.client(client, endpoint);
      return (await peer?.closeGateway({ gatewayId: id, ...ids }, options))?.receipt;
    }
    default:
      throw new Error(`a resource of kind ${kind} is not released here`);
  }
}
