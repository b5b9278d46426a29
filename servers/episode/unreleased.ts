import { CallError, type ClientCallOptions, type EpisodeClient } from "../../clients/index.js";
import {
  Boundary,
  type CloseReceipt,
  type EpisodeId,
  type EpisodeOutcome,
  FailureKind,
  type ResourceIntent,
  ResourceKind,
  Retry,
  StopMode,
} from "../../gen/index.js";
import { cutText, OperationFailure } from "../runtime/failure.js";
import type { Owned } from "./clean-up-stack.js";
import { episodeHeaders } from "./episode-run.js";
import type { WatchedEpisode } from "./episode-watch.js";
import type { Peer, Peers } from "./peers.js";

/** Intents of earlier attempts, each once, as something that must be released. */
export function ownedOf(peers: Peers, intents: readonly ResourceIntent[], watched: WatchedEpisode): Owned[] {
  const distinct = new Map(
    intents.map((intent) => [`${intent.kind} ${intent.binding} ${intent.id}`, intent]),
  );
  return [...distinct.values()].map((intent) => ({
    intent,
    boundary: boundaryOf(intent.kind),
    release: (options) => release({ peers, watched }, intent, options),
  }));
}

function boundaryOf(kind: ResourceKind): Boundary {
  switch (kind) {
    case ResourceKind.AGENT_SESSION:
      return Boundary.AGENT;
    case ResourceKind.GATEWAY:
      return Boundary.MODEL;
    case ResourceKind.EPISODE:
      return Boundary.EPISODE;
    default:
      return Boundary.ENVIRONMENT;
  }
}

interface Releasing {
  readonly peers: Peers;
  /** The episode that releases. */
  readonly watched: WatchedEpisode;
}

async function release(
  { peers, watched }: Releasing,
  intent: ResourceIntent,
  options: ClientCallOptions,
): Promise<CloseReceipt | undefined> {
  const { kind, id, episodeId } = intent;
  const ids = episodeId === undefined ? {} : { episodeId };
  switch (kind) {
    case ResourceKind.ENVIRONMENT_SESSION:
      return (await at(peers.environments, intent, watched).close({ sessionId: id, ...ids }, options))
        .receipt;
    case ResourceKind.AGENT_SESSION:
      return (await at(peers.agents, intent, watched).close({ sessionId: id, ...ids }, options)).receipt;
    case ResourceKind.GATEWAY:
      return (await at(peers.models, intent, watched).closeGateway({ gatewayId: id, ...ids }, options))
        .receipt;
    case ResourceKind.EPISODE: {
      const client = at(peers.episodes, intent, watched);
      await endEpisode(client, { ...ids, reason: "a newer attempt of the rollout has begun" }, options);
      return undefined;
    }
    default:
      throw notOurs(intent);
  }
}

/** A client of the server that holds what was intended. Throws where it is not configured here any more. */
function at<C, D>(
  peers: ReadonlyMap<string, Peer<C, D>>,
  intent: ResourceIntent,
  watched: WatchedEpisode,
): C {
  const { binding, episodeId, endpoint } = intent;
  const peer = peers.get(binding);
  if (peer === undefined) throw notOurs(intent);
  return peer.client(
    episodeId === undefined ? {} : { headers: episodeHeaders(episodeId, watched) },
    endpoint,
  );
}

/** Nothing is dropped in silence: what nobody here can release stands in the outcome as left (EPI-OUT-006). */
function notOurs({ kind, binding, id }: ResourceIntent): OperationFailure {
  const what = `${ResourceKind[kind] ?? `kind ${kind}`} ${id}`;
  return new OperationFailure({
    kind: FailureKind.UNAVAILABLE,
    retry: Retry.NEVER,
    reason: cutText(
      `no server "${binding}" is configured that could release ${what}; configure it, or release it there`,
      2000,
    ),
  });
}

/**
 * Ends an episode at another server and waits until it has cleaned up; answers how it ended, or undefined where it is
 * not known there (any more).
 */
export async function endEpisode(
  client: EpisodeClient,
  { episodeId, reason }: { readonly episodeId?: EpisodeId; readonly reason: string },
  options: ClientCallOptions,
): Promise<EpisodeOutcome | undefined> {
  const ids = episodeId === undefined ? {} : { episodeId };
  try {
    await client.stop({ ...ids, mode: StopMode.ABANDON, reason }, options);
    return await client.attach(ids, options).result();
  } catch (error) {
    if (error instanceof CallError && goneReasons.has(error.reason ?? "")) return undefined;
    throw error;
  }
}

/** What a server says of an episode that holds nothing there. */
const goneReasons = new Set(["SESSION_UNKNOWN", "ANSWER_EXPIRED"]);
