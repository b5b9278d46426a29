import {
  FailureKind,
  Stage,
  type StepRequest,
  StepRequestSchema,
  type StepResponse,
  StepResponseSchema,
} from "../../../gen/index.js";
import { checkAnswerSize } from "../../runtime/answer-size.js";
import { clamp, fromMs } from "../../runtime/duration.js";
import { fingerprint } from "../../runtime/fingerprint.js";
import type { Delivered } from "../../runtime/ledger.js";
import type { EnvironmentContext } from "../environment-context.js";
import { blobsOf } from "../principals/agent-blobs.js";
import type { Caller } from "../principals/caller.js";
import { checkStep } from "./check-step.js";
import { checkTurn } from "./check-turn.js";
import { takeStep } from "./take-step.js";
import { withBlobs } from "./with-blobs.js";

/** Who takes a step, and how large its answer may be. */
export interface StepOptions {
  readonly caller: Caller;
  /** Bytes that the answer may have. */
  readonly maxBytes: number;
}

/** Takes a step, or finds the operation that did. */
export function step<Data, State>(
  context: EnvironmentContext<Data, State>,
  request: StepRequest,
  { caller, maxBytes }: StepOptions,
): Delivered<StepResponse> {
  const { runtime, prepared, sessions } = context;
  const actions = checkStep(context, request);
  const { sessionId, name, timeout } = request;
  const timeoutMs = timeout === undefined ? prepared.stepTimeoutMs : clamp(timeout, runtime.limits.timeout);
  const index = name.case === "stepIndex" ? name.value : undefined;
  let resolved = actions;
  return sessions.operate<StepResponse>(sessionId, {
    kind: "step",
    index,
    ownName: name.case === "actionId" ? `action:${name.value}` : undefined,
    keepNewest: runtime.limits.stepAnswers,
    fingerprint: fingerprint(StepRequestSchema, request),
    timeoutMs,
    context: { stage: Stage.STEP },
    check(open) {
      checkTurn(open, actions, { ...prepared.turnRules, index });
      const blobs = { reader: blobsOf(context, caller), maxBytes: runtime.limits.maxBlobBytes };
      resolved = withBlobs(actions, request, blobs);
    },
    run(run) {
      const deliverable = (response: StepResponse): StepResponse => {
        if (timeout !== undefined) response.timeout = fromMs(timeoutMs);
        checkAnswerSize(StepResponseSchema, response, {
          limit: maxBytes,
          kind: FailureKind.STEP_FAILED,
        });
        return response;
      };
      const taken = takeStep(context, resolved, run);
      return taken instanceof Promise ? taken.then(deliverable) : deliverable(taken);
    },
    onEnd(outcome, run) {
      // ENV-WTCH-001
      if (outcome.ok)
        run.state.world?.feed.append({ sequence: 0n, what: { request, response: outcome.answer } });
    },
  });
}
