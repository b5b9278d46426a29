import { create } from "@bufbuild/protobuf";
import { z } from "zod";
import { type Item, StopReason, ToolCallSchema } from "../../../gen/index.js";
import { assistantMessage, textOf, toolCallItem } from "../../runtime/items.js";
import { defineAgent } from "../define-agent.js";
import { chanceOf, randomArguments, randomText } from "./random-arguments.js";

const options = z.strictObject({
  /** Another seed does other things; the same seed does the same to the same task. */
  seed: z.int().min(0).default(0),
  /** Tool calls of one turn at most; a budget may ask for fewer. */
  max_calls: z.int().min(0).max(0xffff_ffff).default(8),
});

/** What was said to the agent, as text: it tells one task from another. */
function saidIn(items: readonly Item[]): string {
  return items
    .map(({ kind }) =>
      kind.case === "chatMessage" || kind.case === "toolResult" ? textOf(kind.value.content) : "",
    )
    .join("\n");
}

/** Calls tools with arguments of chance, then says something: what a score is worth that nobody worked for. */
export const random = defineAgent({
  name: "random",
  version: "1.0.0",
  needsModel: false,
  options,
  maxBudget: ({ max_calls: maxToolCalls }) => ({ maxToolCalls }),
  async activate(turn) {
    const { agentId, context, tools, history, input } = turn;
    const { seed, max_calls: most } = turn.options;
    const chance = chanceOf(
      [seed, agentId, context.groupIndex, history.length, saidIn([...history, ...input])].join("/"),
    );
    const calls = tools.length === 0 ? 0 : chance.below(most + 1);
    for (let i = 0; i < calls; i += 1) {
      const tool = chance.oneOf(tools);
      if (tool === undefined) break;
      const call = create(ToolCallSchema, {
        callId: `random-${history.length}-${i}`,
        name: tool.name,
        argumentsJson: randomArguments(tool.inputSchemaJson, chance),
      });
      turn.say(toolCallItem(call));
      const done = await turn.callTool(call);
      if ("stop" in done) return { stopReason: done.stop };
      if (done.called.ended) return { stopReason: StopReason.ENVIRONMENT_ENDED };
    }
    turn.say(assistantMessage(randomText(chance, 1 + chance.below(3))));
    return { stopReason: StopReason.DONE };
  },
});
