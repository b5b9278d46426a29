import { z } from "zod";
import { FailureKind, Retry, StopReason } from "../../../gen/index.js";
import { OperationFailure } from "../../runtime/failure.js";
import { defineAgent } from "../define-agent.js";

/** Does what the task's reference says: the ceiling of any environment, and a check of its verifier. */
export const oracle = defineAgent({
  name: "oracle",
  version: "1.0.0",
  needsModel: false,
  takesReference: true,
  options: z.strictObject({}),
  async activate(turn) {
    const { reference } = turn;
    if (reference === undefined) {
      throw new OperationFailure({
        kind: FailureKind.HARNESS_CRASHED,
        retry: Retry.NEVER,
        reason: "the oracle was given no reference: the task has none, or the run did not ask for it",
      });
    }
    const { artifacts } = reference;
    for (const item of reference.items) {
      turn.say(item);
      if (item.kind.case !== "toolCall") continue;
      const done = await turn.callTool(item.kind.value);
      if ("stop" in done) return { stopReason: done.stop, artifacts };
    }
    return { stopReason: StopReason.DONE, artifacts };
  },
});
