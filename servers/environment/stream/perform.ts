import { setMaxListeners } from "node:events";
import type { HandlerContext } from "@connectrpc/connect";
import {
  type EnvironmentServiceCloseRequest,
  type SeedRequest,
  SeedRequestSchema,
  SeedResponseSchema,
  type StepResponse,
  StepResponseSchema,
  type StepStreamAnswer,
  type StepStreamOperation,
} from "../../../gen/index.js";
import { answerLimit } from "../../runtime/answer-limit.js";
import { checkFits } from "../../runtime/answer-size.js";
import { invalidField } from "../../runtime/refusal.js";
import { validate } from "../../runtime/validate.js";
import { closeSession } from "../close-session.js";
import type { EnvironmentContext } from "../environment-context.js";
import { answerFor } from "../principals/agent-answer.js";
import { callerOf, checkController, checkOwnStep } from "../principals/caller.js";
import { seed } from "../seed/seed.js";
import { step } from "../step/step.js";

type Answer = StepStreamAnswer["answer"];

/** What a frame adds to its one answer, at most. */
const frameBytes = 64;

/**
 * Does the operations of one stream's frames, each as a call of its own by the stream's caller would (ENV-BATC-003,
 * ENV-BATC-004). Throws, or rejects with, what the call would have failed with; a step that is taken at once is answered
 * at once.
 */
export function performer<Data, State>(
  context: EnvironmentContext<Data, State>,
  call: Pick<HandlerContext, "requestHeader" | "signal">,
): (operation: StepStreamOperation) => Answer | Promise<Answer> {
  const caller = callerOf(context, call);
  // The frame around an answer has its bytes too.
  const maxBytes = answerLimit(context.runtime.limits, call) - frameBytes;
  const rewardVisible = context.definition.reward.visible ?? false;
  // A stream by nobody who is known here is refused as a whole.
  caller();
  // Each operation of it that waits for its turn listens to the end of the one call.
  setMaxListeners(0, call.signal);
  async function seeded(request: SeedRequest): Promise<Answer> {
    const value = await seed(context, request, maxBytes).operation.answer(call);
    checkFits(SeedResponseSchema, value, maxBytes);
    return { case: "seed", value };
  }
  async function closed(request: EnvironmentServiceCloseRequest): Promise<Answer> {
    return { case: "close", value: await closeSession(context, request) };
  }
  return ({ operation }) => {
    const by = caller();
    switch (operation.case) {
      case "step": {
        checkOwnStep(by, operation.value);
        const { operation: taking, delivery } = step(context, operation.value, { caller: by, maxBytes });
        const taken = (value: StepResponse): Answer => {
          // One that was taken for another caller may be more than this one takes.
          if (delivery !== "started") checkFits(StepResponseSchema, value, maxBytes);
          return { case: "step", value };
        };
        const response = answerFor(by, taking, { rewardVisible, waiting: call });
        return response instanceof Promise ? response.then(taken) : taken(response);
      }
      case "seed":
        checkController(by);
        validate(SeedRequestSchema, operation.value);
        return seeded(operation.value);
      case "close":
        checkController(by);
        return closed(operation.value);
      case undefined:
        throw invalidField("operations", "expected a step, a seed or a close, found none that is known");
    }
  };
}
