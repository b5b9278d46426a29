import type { Attributes } from "@opentelemetry/api";
import { keyHeader } from "../../clients/metadata.js";
import type { EpisodeContext, EpisodeId } from "../../gen/index.js";
import type { ObservedCall } from "../runtime/call-observer.js";
import { requestHeaderOf } from "../runtime/grpc/index.js";

/** Fields of requests that name what a call is about. */
interface Named {
  readonly sessionId?: string;
  readonly gatewayId?: string;
  readonly episodeId?: EpisodeId;
  readonly context?: EpisodeContext;
  readonly target?: { readonly value?: { readonly sessionId?: string } };
}

/** What a span tells of its call: names only, never content (R16). */
export function callAttributes({ method, request, context }: ObservedCall): Attributes {
  const named = (request ?? {}) as Named;
  const episode = named.context?.episodeId ?? named.episodeId;
  const session = named.sessionId ?? named.target?.value?.sessionId;
  const rollout = episode?.rolloutId ?? requestHeaderOf(context, keyHeader);
  return {
    "rpc.system": "grpc",
    "rpc.service": method.parent.typeName,
    "rpc.method": method.name,
    ...(rollout === undefined ? {} : { "touchstone.rollout_id": rollout }),
    ...(episode === undefined ? {} : { "touchstone.attempt": episode.attempt }),
    ...(session === undefined ? {} : { "touchstone.session_id": session }),
    ...(named.gatewayId === undefined ? {} : { "touchstone.gateway_id": named.gatewayId }),
  };
}
