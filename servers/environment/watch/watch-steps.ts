import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import {
  type WatchStepsRequest,
  type WatchStepsResponse,
  WatchStepsResponseSchema,
} from "../../../gen/index.js";
import type { EnvironmentContext } from "../environment-context.js";
import { worldOf } from "../environment-session.js";
import type { FeedEvent } from "./step-feed.js";

/**
 * Follows the steps of a session, whoever took them, from behind a sequence (ENV-WTCH-002, ENV-WTCH-003), until the
 * session ends (ENV-WTCH-004). The call is a request; what it waits for afterwards renews nothing (R6).
 */
export async function* watchSteps<Data, State>(
  { runtime, sessions }: EnvironmentContext<Data, State>,
  { sessionId, afterSequence }: WatchStepsRequest,
  { signal }: Pick<HandlerContext, "signal">,
): AsyncGenerator<WatchStepsResponse, void, undefined> {
  const { feed } = worldOf(sessions.open(sessionId).state);
  const events = feed.follow({
    afterSequence,
    signal,
    clock: runtime.clock,
    heartbeat: () => ({ sequence: 0n, what: "heartbeat" }),
    gap: (untilSequence) => ({ sequence: 0n, what: { untilSequence } }),
  });
  for await (const { what } of events) yield create(WatchStepsResponseSchema, told(what));
}

function told(what: FeedEvent["what"]): MessageInitShape<typeof WatchStepsResponseSchema> {
  if (what === "heartbeat") return { event: { case: "heartbeat", value: {} } };
  if ("untilSequence" in what) return { event: { case: "gap", value: what } };
  const { request, response } = what;
  const { actions, name } = request;
  const actionId = name.case === "actionId" ? name.value : "";
  return { event: { case: "step", value: { actions, response, actionId } } };
}
