import { create } from "@bufbuild/protobuf";
import {
  type Choice,
  GenerateRequestSchema,
  type Item,
  Stage,
  StopReason,
  type ToolCall,
} from "../../gen/index.js";
import type { Clock } from "../runtime/clock.js";
import { toFailure } from "../runtime/failure.js";
import { toolResult, toolResultItem } from "../runtime/items.js";
import type { AgentSession } from "./agent-session.js";
import type { BudgetMeter } from "./budget-meter.js";
import { choiceOf } from "./check-answer.js";
import { whyNotRun } from "./check-tool-call.js";
import type { ModelAsk, ToolCalled, Turn } from "./define-agent.js";
import type { TurnRecord } from "./turn-record.js";

/** What a turn is made of. */
export interface TurnParts<Options> {
  readonly session: AgentSession<Options>;
  readonly sessionId: string;
  readonly index: number;
  readonly input: readonly Item[];
  readonly record: TurnRecord;
  readonly meter: BudgetMeter;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** A turn for a harness: every call of model and tools goes through it, is counted, recorded and bounded. */
export function createTurn<Options>(parts: TurnParts<Options>): Turn<Options> {
  const { session, sessionId, index, record, meter, clock, signal } = parts;
  let toolCalls = 0;

  /** What a call that failed ends with: the turn's own end where that is what cut it, else the failure. */
  function endOf(error: unknown): { stop: StopReason } {
    if (record.stopReason === undefined) throw error;
    return { stop: record.stopReason };
  }

  async function generate(ask: ModelAsk): Promise<{ choice: Choice } | { stop: StopReason }> {
    const stop = record.stopReason ?? meter.beforeModelCall();
    if (stop !== undefined) return { stop };
    signal.throwIfAborted();
    const { model } = session;
    if (model === undefined) throw new Error("a harness that declared no model asked one");
    const request = requestOf(ask, session, meter.outputTokensLeft);
    const call = record.modelCall();
    try {
      const response = await model.generate(request, signal);
      call.answered(response);
      const { choice, meaning } = choiceOf(response);
      choice.items = choice.items.map((item) => record.say(item));
      const ending = meaning === "on" ? meter.afterModelCall() : meaning === "cut" ? meter.cutBy : meaning;
      return ending === undefined ? { choice } : { stop: ending };
    } catch (error) {
      call.failed(toFailure(error, { stage: Stage.ACTIVATE, agentId: session.agentId }));
      return endOf(error);
    }
  }

  async function callTool(call: ToolCall): Promise<{ called: ToolCalled } | { stop: StopReason }> {
    const stop = record.stopReason ?? meter.beforeToolCall();
    if (stop !== undefined) return { stop };
    signal.throwIfAborted();
    const why = whyNotRun(call, session);
    if (why !== undefined) {
      const result = record.say(toolResultItem(toolResult(call.callId, why, true)));
      return { called: { items: [result], ended: false } };
    }
    const [peer] = session.toolPeers;
    if (peer === undefined) throw new Error("a tool passed the check without a way to it");
    // AGT-ACT-029: the name of this call, the same at every repeat.
    const actionId = `${sessionId}/${index}/${toolCalls}`;
    toolCalls += 1;
    meter.toolCallBegun();
    const began = clock.now();
    try {
      const stepped = await peer.call(call, { actionId, signal });
      meter.toolCallEnded(clock.now() - began);
      const items = stepped.items.map((item) => record.hear(item));
      // AGT-ACT-021
      if (stepped.ended === "before") return { stop: StopReason.ENVIRONMENT_ENDED };
      return { called: { items, ended: stepped.ended === "now" } };
    } catch (error) {
      return endOf(error);
    }
  }

  return {
    agentId: session.agentId,
    context: session.context,
    options: session.options,
    history: [...session.conversation],
    input: parts.input,
    tools: session.tools,
    reference: session.reference,
    signal,
    say: (item) => void record.say(item),
    generate,
    callTool,
  };
}

function requestOf(
  ask: ModelAsk,
  { tools, context, agentId }: Pick<AgentSession<unknown>, "tools" | "context" | "agentId">,
  outputTokensLeft: bigint | undefined,
) {
  return create(GenerateRequestSchema, {
    prompt: {
      items: [...ask.items],
      tools: [...(ask.tools ?? tools)],
      ...(ask.toolChoice === undefined ? {} : { toolChoice: ask.toolChoice }),
    },
    ...(outputTokensLeft === undefined ? {} : { sampling: { maxOutputTokens: outputTokensLeft } }),
    context,
    agentId,
  });
}
