import { type CleanUp, type ResourceIntent, ResourceKind } from "../../gen/index.js";
import type { Clock } from "../runtime/clock.js";
import { unknownName } from "../runtime/refusal.js";
import { CleanUpStack } from "./clean-up-stack.js";
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

/** What closing needs. */
export interface UnreleasedOptions {
  readonly peers: Peers;
  readonly clock: Clock;
  /** Bound of each release in milliseconds. */
  readonly timeoutMs: number;
}

/** Closes what an earlier attempt told and did not release (EPI-E6-012). */
export async function closeUnreleased(
  intents: readonly ResourceIntent[],
  { peers, clock, timeoutMs }: UnreleasedOptions,
): Promise<CleanUp[]> {
  const stack = new CleanUpStack({ clock, timeoutMs, onIntent: () => {}, onReleased: () => {} });
  for (const intent of intents) stack.own({ intent, release: (signal) => release(peers, intent, signal) });
  return await stack.releaseAll();
}

async function release(peers: Peers, { kind, binding, id, episodeId }: ResourceIntent, signal: AbortSignal) {
  const ids = episodeId === undefined ? {} : { episodeId };
  switch (kind) {
    case ResourceKind.ENVIRONMENT_SESSION: {
      const client = peers.environments.get(binding)?.client({});
      return (await client?.close({ sessionId: id, ...ids }, { signal }))?.receipt;
    }
    case ResourceKind.AGENT_SESSION: {
      const client = peers.agents.get(binding)?.client({});
      return (await client?.close({ sessionId: id, ...ids }, { signal }))?.receipt;
    }
    case ResourceKind.GATEWAY: {
      const client = peers.models.get(binding)?.client({});
      return (await client?.closeGateway({ gatewayId: id, ...ids }, { signal }))?.receipt;
    }
    default:
      throw new Error(`a resource of kind ${kind} is not released here`);
  }
}
