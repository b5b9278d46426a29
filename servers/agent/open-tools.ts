import { create } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { CallError, type Channel } from "../../clients/index.js";
import {
  Boundary,
  type Endpoint,
  FailureKind,
  Retry,
  type SkippedAccess,
  SkippedAccessSchema,
  type ToolAccess,
} from "../../gen/index.js";
import type { Dial } from "../runtime/dial.js";
import { OperationFailure } from "../runtime/failure.js";
import { causeOf } from "../runtime/peer-failure.js";
import type { PeerOptions } from "./model-peer.js";
import { stepPeer, type ToolPeer } from "./tool-peer.js";

/**
 * Tries each access. A required one that cannot be used fails Open (AGT-OPEN-002), an optional one is skipped and told
 * (AGT-OPEN-003).
 */
export async function openTools(
  accesses: readonly ToolAccess[],
  options: PeerOptions,
  signal: AbortSignal,
): Promise<{ readonly peers: ToolPeer[]; readonly skipped: SkippedAccess[] }> {
  const peers: ToolPeer[] = [];
  const skipped: SkippedAccess[] = [];
  for (const access of accesses) {
    const tried = await tryAccess(access, options, signal);
    if ("peer" in tried) {
      peers.push(tried.peer);
    } else if (access.required) {
      throw new OperationFailure({
        kind: FailureKind.TOOL_UNREACHABLE,
        retry: tried.error === undefined ? Retry.NEVER : Retry.NEW_ATTEMPT,
        reason: `required tool access "${access.name}" cannot be used: ${tried.why}`,
        ...(tried.error === undefined
          ? {}
          : { causes: [causeOf(tried.error, Boundary.ENVIRONMENT, FailureKind.TOOL_UNREACHABLE)] }),
      });
    } else {
      skipped.push(create(SkippedAccessSchema, { name: access.name, reason: tried.why }));
    }
  }
  return { peers, skipped };
}

type Tried =
  | { readonly peer: ToolPeer }
  /** `error`: what calling it came to; absent where it is of no use to this agent at all. */
  | { readonly why: string; readonly error: CallError | undefined };

async function tryAccess(
  { way }: ToolAccess,
  { dial, key }: PeerOptions,
  signal: AbortSignal,
): Promise<Tried> {
  const useless = (why: string): Tried => ({ why, error: undefined });
  switch (way.case) {
    case "step": {
      if (way.value.endpoint === undefined) return useless("it names no endpoint");
      const channel = channelTo(way.value.endpoint, dial);
      if (channel === undefined) {
        return useless("its endpoint is none of http://host:port, https://host:port, unix:///path");
      }
      try {
        return { peer: await stepPeer(way.value, { channel, key, signal }) };
      } catch (error) {
        if (!(error instanceof CallError)) throw error;
        const ended = error.reason ?? Code[error.code] ?? String(error.code);
        return { why: `${error.rpc} ended ${ended}`, error };
      }
    }
    case "mcpHttp":
    case "mcpStdio":
      return useless("this agent reaches tools by Step only");
    case undefined:
      return useless("it is a way that is not known here");
  }
}

function channelTo(endpoint: Endpoint, dial: Dial): Channel | undefined {
  try {
    return dial(endpoint);
  } catch {
    return undefined;
  }
}
