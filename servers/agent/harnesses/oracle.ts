import { z } from "zod";
import { FailureKind, type Item, Retry, StopReason, type ToolCall } from "../../../gen/index.js";
import { OperationFailure } from "../../runtime/failure.js";
import { textOf } from "../../runtime/items.js";
import { defineAgent } from "../define-agent.js";

/**
 * Does what the task's reference says: the ceiling of any environment, and a check of its verifier. A reference that
 * cannot be followed, because it is missing or a tool call of it is refused or ends in an error, is a failure: it would
 * else be a low score that nobody can tell from a bad solution.
 */
export const oracle = defineAgent({
  name: "oracle",
  version: "1.0.0",
  needsModel: false,
  takesReference: true,
  options: z.strictObject({}),
  async activate(turn) {
    const { reference } = turn;
    if (reference === undefined) {
      throw broken("the oracle was given no reference: the task has none, or the run did not ask for it");
    }
    const { artifacts } = reference;
    const offered = new Set(turn.tools.map(({ name }) => name));
    const calls = reference.items.flatMap(({ kind }) => (kind.case === "toolCall" ? [kind.value.name] : []));
    // Of a task in stages the reference is whole, while each stage offers its own tools: the others' calls are not due.
    if (calls.length > 0 && !calls.some((name) => offered.has(name))) {
      throw broken(
        `none of the reference's tools (${calls.join(", ")}) is offered: ${[...offered].join(", ") || "no tool is"}`,
      );
    }
    for (const item of reference.items) {
      if (item.kind.case === "toolCall" && !offered.has(item.kind.value.name)) continue;
      turn.say(item);
      if (item.kind.case !== "toolCall") continue;
      const call = item.kind.value;
      const done = await turn.callTool(call);
      if ("stop" in done) return { stopReason: done.stop, artifacts };
      checkDone(call, done.called.items);
    }
    return { stopReason: StopReason.DONE, artifacts };
  },
});

/** Throws where the result of a call says that it was refused or went wrong. */
function checkDone({ callId, name }: ToolCall, items: readonly Item[]): void {
  for (const { kind } of items) {
    if (kind.case !== "toolResult" || kind.value.callId !== callId || !kind.value.isError) continue;
    const said = textOf(kind.value.content) || "an error without words";
    throw broken(`the reference's call "${callId}" of tool "${name}" was answered with an error: ${said}`);
  }
}

function broken(reason: string): OperationFailure {
  return new OperationFailure({ kind: FailureKind.HARNESS_CRASHED, retry: Retry.NEVER, reason });
}
