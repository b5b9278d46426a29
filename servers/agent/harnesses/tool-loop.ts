import { create } from "@bufbuild/protobuf";
import { z } from "zod";
import { type Item, StopReason, type Tool, type ToolCall, ToolSchema } from "../../../gen/index.js";
import { defineAgent } from "../define-agent.js";

const options = z.strictObject({
  /** Model answers of one turn at most; a budget may ask for fewer. */
  max_turns: z.int().min(1).max(0xffff_ffff).default(50),
  /** Name of a tool, offered to the model by the harness, by which it asks for more input: the turn then awaits it. */
  ask_tool: z
    .string()
    .regex(/^[A-Za-z0-9_.-]{1,128}$/)
    .optional(),
});

function askTool(name: string): Tool {
  return create(ToolSchema, {
    name,
    description: "Ask the user for what you need to go on. Your turn ends with the question.",
    inputSchemaJson: JSON.stringify({
      type: "object",
      properties: { question: { type: "string" } },
      required: ["question"],
    }),
  });
}

function toolCallsOf(items: readonly Item[]): ToolCall[] {
  return items.flatMap(({ kind }) => (kind.case === "toolCall" ? [kind.value] : []));
}

/** Model and tools in a loop, until the model stops calling tools or a budget is spent. */
export const toolLoop = defineAgent({
  name: "tool-loop",
  version: "1.0.0",
  needsModel: true,
  options,
  maxBudget: ({ max_turns: maxTurns }) => ({ maxTurns }),
  async activate(turn) {
    const { ask_tool: asked } = turn.options;
    // A tool of the environment keeps its name.
    const ask = turn.tools.some(({ name }) => name === asked) ? undefined : asked;
    const tools = ask === undefined ? turn.tools : [...turn.tools, askTool(ask)];
    const conversation = [...turn.history, ...turn.input];
    for (;;) {
      const answered = await turn.generate({ items: conversation, tools });
      if ("stop" in answered) return { stopReason: answered.stop };
      conversation.push(...answered.choice.items);
      const calls = toolCallsOf(answered.choice.items);
      // AGT-ACT-022
      if (calls.length === 0) return { stopReason: StopReason.DONE };
      for (const call of calls) {
        if (call.name === ask && !call.incomplete) return { stopReason: StopReason.AWAITING_INPUT };
        const done = await turn.callTool(call);
        if ("stop" in done) return { stopReason: done.stop };
        conversation.push(...done.called.items);
        if (done.called.ended) return { stopReason: StopReason.ENVIRONMENT_ENDED };
      }
    }
  },
});
