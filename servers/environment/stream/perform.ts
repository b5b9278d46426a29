import type { HandlerContext } from "@connectrpc/connect";
import { SeedRequestSchema, type StepStreamAnswer, type StepStreamOperation } from "../../../gen/index.js";
import { answerLimit } from "../../runtime/answer-limit.js";
import { invalidField } from "../../runtime/refusal.js";
import { validate } from "../../runtime/validate.js";
import { closeSession } from "../close-session.js";
import type { EnvironmentContext } from "../environment-context.js";
import { answerFor } from "../principals/agent-answer.js";
import { callerOf, checkController, checkOwnStep } from "../principals/caller.js";
import { seed } from "../seed/seed.js";
import { step } from "../step/step.js";

/**
 * Does the operations of one stream's frames, each as a call of its own by the stream's caller would (ENV-BATC-003,
 * ENV-BATC-004). Throws what the call would have failed with.
 */
export function performer<Data, State>(
  context: EnvironmentContext<Data, State>,
  call: Pick<HandlerContext, "requestHeader" | "signal">,
): (operation: StepStreamOperation) => Promise<StepStreamAnswer["answer"]> {
  const caller = callerOf(context, call);
  const maxBytes = answerLimit(context.runtime.limits, call);
  const rewardVisible = context.definition.reward.visible ?? false;
  // A stream by nobody who is known here is refused as a whole.
  caller();
  return async ({ operation }) => {
    const by = caller();
    switch (operation.case) {
      case "step": {
        checkOwnStep(by, operation.value);
        const response = await step(context, operation.value, maxBytes).operation.answer();
        return { case: "step", value: answerFor(by, response, rewardVisible) };
      }
      case "seed":
        checkController(by);
        validate(SeedRequestSchema, operation.value);
        return { case: "seed", value: await seed(context, operation.value, maxBytes).operation.answer(call) };
      case "close":
        checkController(by);
        return { case: "close", value: await closeSession(context, operation.value) };
      case undefined:
        throw invalidField("operations", "expected a step, a seed or a close, found none that is known");
    }
  };
}
