import { create } from "@bufbuild/protobuf";
import {
  type ActivateResponse,
  ActivateResponseSchema,
  type Choice,
  FailureKind,
  FinishReason,
  GenerateRequestSchema,
  type Item,
  ItemSchema,
  ModelCallSummarySchema,
  Retry,
  Stage,
  StopReason,
  type ToolCall,
} from "../../gen/index.js";
import type { Clock } from "../runtime/clock.js";
import { fromMs } from "../runtime/duration.js";
import type { EventLog } from "../runtime/event-log.js";
import { OperationFailure, toFailure } from "../runtime/failure.js";
import { toolResult, toolResultItem } from "../runtime/items.js";
import type { AgentSession } from "./agent-session.js";
import type { BudgetMeter } from "./budget.js";
import type { ModelAsk, ToolCalled, Turn } from "./define-agent.js";

/** What a turn is made of. */
export interface TurnParts<Options> {
  readonly session: AgentSession<Options>;
  readonly sessionId: string;
  readonly index: number;
  readonly input: readonly Item[];
  readonly meter: BudgetMeter;
  readonly clock: Clock;
  readonly events: EventLog<ActivateResponse>;
  readonly signal: AbortSignal;
  /** What the turn says, in order. */
  readonly output: Item[];
  /** Set once the turn has its outcome: a harness that goes on all the same is not heard any more. */
  readonly life: { over: boolean };
}

/** Finish reasons that end a turn, whatever the harness would do next. */
const endings: Partial<Record<FinishReason, StopReason>> = {
  [FinishReason.LENGTH]: StopReason.MAX_TOKENS,
  [FinishReason.CONTEXT_LENGTH]: StopReason.CONTEXT_LENGTH,
  [FinishReason.REFUSAL]: StopReason.REFUSAL,
  [FinishReason.CONTENT_FILTER]: StopReason.REFUSAL,
};

/** A turn for a harness: every call of model and tools goes through it, is counted, recorded and bounded. */
export function createTurn<Options>(parts: TurnParts<Options>): Turn<Options> {
  const { session, index, meter, clock, events, signal, output } = parts;
  let toolCalls = 0;

  function say(item: Item): Item {
    if (parts.life.over) throw new Error("the turn is over");
    // AGT-OPEN-008: what the session makes carries its agent_id; what the environment says carries none.
    const own = create(ItemSchema, {
      ...item,
      itemId: item.itemId === "" ? `${index}-${output.length}` : item.itemId,
      agentId: item.kind.case === "toolResult" ? "" : session.agentId,
    });
    output.push(own);
    session.transcript.add(index, { case: "item", value: own });
    events.append(create(ActivateResponseSchema, { event: { case: "item", value: own } }));
    return own;
  }

  async function generate(ask: ModelAsk): Promise<{ choice: Choice } | { stop: StopReason }> {
    signal.throwIfAborted();
    const stop = meter.beforeModelCall();
    if (stop !== undefined) return { stop };
    const { model } = session;
    if (model === undefined) throw new Error("a harness that declared no model asked one");
    const left = meter.outputTokensLeft;
    const started = clock.now();
    const request = create(GenerateRequestSchema, {
      prompt: {
        items: [...ask.items],
        tools: [...(ask.tools ?? session.tools)],
        toolChoice: ask.toolChoice ?? 0,
      },
      ...(left === undefined ? {} : { sampling: { maxOutputTokens: left } }),
      context: session.context,
      agentId: session.agentId,
    });
    let summary = create(ModelCallSummarySchema, {});
    try {
      const response = await model.generate(request, signal);
      const ms = clock.now() - started;
      meter.addModelCall(response.usage, ms);
      summary = create(ModelCallSummarySchema, {
        callId: response.callId,
        duration: fromMs(ms),
        ...(response.usage === undefined ? {} : { usage: response.usage }),
      });
      const choice = response.choices[0];
      if (choice === undefined) {
        throw new OperationFailure({
          kind: FailureKind.MODEL_INVALID_OUTPUT,
          retry: Retry.NEW_ATTEMPT,
          reason: "the model answered without a choice",
        });
      }
      choice.items = choice.items.map(say);
      const ending = endings[choice.finishReason];
      return ending === undefined ? { choice } : { stop: ending };
    } catch (error) {
      if (summary.duration === undefined) {
        meter.addModelCall(undefined, clock.now() - started);
        summary = create(ModelCallSummarySchema, {
          duration: fromMs(clock.now() - started),
          failure: toFailure(error, { stage: Stage.ACTIVATE, agentId: session.agentId }),
        });
      }
      throw error;
    } finally {
      // AGT-ACT-026
      session.transcript.add(index, { case: "modelCall", value: summary });
      events.append(create(ActivateResponseSchema, { event: { case: "modelCall", value: summary } }));
    }
  }

  async function callTool(call: ToolCall): Promise<{ called: ToolCalled } | { stop: StopReason }> {
    signal.throwIfAborted();
    const stop = meter.beforeToolCall();
    if (stop !== undefined) return { stop };
    const wrong = whyNot(call, session);
    if (wrong !== undefined) {
      return { called: { result: say(toolResultItem(toolResult(call.callId, wrong, true))), ended: false } };
    }
    const [peer] = session.toolPeers;
    if (peer === undefined) throw new Error("a tool passed the check without a way to it");
    const started = clock.now();
    const actionId = `${parts.sessionId}/${index}/${toolCalls}`;
    toolCalls += 1;
    const stepped = await peer.call(call, { actionId, signal });
    meter.addToolCall(clock.now() - started);
    const result = say(stepped.result);
    if (stepped.ended === "before") return { stop: StopReason.ENVIRONMENT_ENDED };
    return { called: { result, ended: stepped.ended === "now" } };
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
    say: (item) => void say(item),
    generate,
    callTool,
  };
}

/** Why a call is not made, for the model to read; undefined: it is made (AGT-ACT-009, AGT-ACT-013, field-case-087). */
function whyNot<Options>(call: ToolCall, session: AgentSession<Options>): string | undefined {
  if (call.incomplete) return "The call was cut by a limit and was not run.";
  if (!session.tools.some(({ name }) => name === call.name)) {
    return `There is no tool "${call.name}". Tools: ${session.tools.map(({ name }) => name).join(", ") || "none"}.`;
  }
  if (session.toolPeers.length === 0) return `The tool "${call.name}" cannot be reached.`;
  try {
    const args: unknown = JSON.parse(call.argumentsJson);
    if (typeof args === "object" && args !== null && !Array.isArray(args)) return undefined;
  } catch {
    // Told below, together with JSON that is no object.
  }
  return "The arguments are not the text of a JSON object. The tool was not run.";
}
