import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { encodedBytes } from "../../../clients/channel/encode-message.js";
import {
  AgentOutcomeSchema,
  type StepRecordSchema,
  StepResponseSchema,
  type WatchStepsRequest,
  type WatchStepsResponse,
  WatchStepsResponseSchema,
} from "../../../gen/index.js";
import { answerLimit } from "../../runtime/answer-limit.js";
import type { EnvironmentContext } from "../environment-context.js";
import { worldOf } from "../environment-session.js";
import type { FeedEvent, TakenStep } from "./step-feed.js";

/**
 * Follows the steps of a session, whoever took them, from behind a sequence (ENV-WTCH-002, ENV-WTCH-003), until the
 * session ends (ENV-WTCH-004). The call is a request; what it waits for afterwards renews nothing (R6).
 */
export async function* watchSteps<Data, State>(
  { runtime, sessions }: EnvironmentContext<Data, State>,
  { sessionId, afterSequence }: WatchStepsRequest,
  call: Pick<HandlerContext, "requestHeader" | "signal">,
): AsyncGenerator<WatchStepsResponse, void, undefined> {
  const maxBytes = answerLimit(runtime.limits, call);
  const { feed } = worldOf(sessions.open(sessionId).state);
  const events = feed.follow({
    afterSequence,
    signal: call.signal,
    clock: runtime.clock,
    heartbeat: () => ({ sequence: 0n, what: "heartbeat" }),
    gap: (untilSequence) => ({ sequence: 0n, what: { untilSequence } }),
  });
  for await (const { what } of events) yield told(what, maxBytes);
}

function told(what: FeedEvent["what"], maxBytes: number): WatchStepsResponse {
  if (what === "heartbeat")
    return create(WatchStepsResponseSchema, { event: { case: "heartbeat", value: {} } });
  if ("untilSequence" in what)
    return create(WatchStepsResponseSchema, { event: { case: "gap", value: what } });
  return recordOf(what, maxBytes);
}

/**
 * A step as its watcher gets it (ENV-WTCH-001). Request and answer fit into a message each, and together perhaps not: then
 * the actions are missing, which no step is without, and where that is not enough what was seen; never a reward (R11).
 */
function recordOf({ request, response }: TakenStep, maxBytes: number): WatchStepsResponse {
  const { actions, name } = request;
  const actionId = name.case === "actionId" ? name.value : "";
  const whole = stepEvent({ actions, response, actionId });
  if (encodedBytes(WatchStepsResponseSchema, whole) <= maxBytes) return whole;
  const withoutActions = stepEvent({ response, actionId });
  if (encodedBytes(WatchStepsResponseSchema, withoutActions) <= maxBytes) return withoutActions;
  const outcomes = response.outcomes.map((outcome) => {
    const { observation: _, ...rest } = outcome;
    return create(AgentOutcomeSchema, { ...rest, infoJson: "" });
  });
  return stepEvent({ response: create(StepResponseSchema, { ...response, outcomes }), actionId });
}

function stepEvent(value: MessageInitShape<typeof StepRecordSchema>): WatchStepsResponse {
  return create(WatchStepsResponseSchema, { event: { case: "step", value } });
}
