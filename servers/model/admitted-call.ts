import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import type { Slot } from "../runtime/admission.js";
import { Refusal } from "../runtime/refusal.js";
import type { OpenGateway } from "./gateway.js";
import type { ModelContext } from "./model-context.js";
import { RunningCall } from "./running-call.js";

/** Where a call of the model comes from. */
export interface Origin {
  /** The gateway whose key it carries. */
  readonly gateway: OpenGateway | undefined;
  readonly call: Pick<HandlerContext, "requestHeader" | "signal" | "timeoutMs">;
}

/**
 * Runs a call of the model: within the cap, first come, first served (field-case-65), ended with its caller or its
 * gateway, whose lease stands still meanwhile and is renewed by it.
 */
export async function admittedCall<A>(
  context: ModelContext,
  { gateway, call }: Origin,
  run: (running: RunningCall) => Promise<A>,
): Promise<A> {
  const running = new RunningCall(call.signal);
  const letGo = gateway === undefined ? undefined : context.gateways.sessions.hold(gateway);
  gateway?.state.running.add(running);
  try {
    const slot = await enter(context, running);
    // A model that goes on although its call has ended still takes its place.
    void running.over.then(() => slot.release());
    return await run(running);
  } catch (error) {
    throw call.signal.aborted ? new ConnectError("the caller left", Code.Canceled) : error;
  } finally {
    running.end();
    void running.over.then(() => gateway?.state.running.delete(running));
    letGo?.();
  }
}

async function enter({ admission }: ModelContext, running: RunningCall): Promise<Slot> {
  try {
    const slot = await admission.enter(() => running.signal);
    if (!running.signal.aborted) return slot;
    slot.release();
    throw running.signal.reason;
  } catch (error) {
    if (running.cancelled === undefined) throw error;
    throw new Refusal("CREDENTIALS", "the gateway was closed while the call waited; nothing was asked");
  }
}
