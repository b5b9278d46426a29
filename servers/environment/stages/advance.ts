import { create } from "@bufbuild/protobuf";
import {
  type AdvanceRequest,
  AdvanceRequestSchema,
  type AdvanceResponse,
  AdvanceResponseSchema,
  BudgetSchema,
  FailureKind,
  Stage,
} from "../../../gen/index.js";
import { checkAnswerSize } from "../../runtime/answer-size.js";
import { clamp, fromMs } from "../../runtime/duration.js";
import { fingerprint } from "../../runtime/fingerprint.js";
import type { Delivered } from "../../runtime/ledger.js";
import { Refusal } from "../../runtime/refusal.js";
import { readStarts } from "../agent-starts.js";
import { advancedShape } from "../answer-shapes.js";
import { checkAuthorAnswer } from "../author-answer.js";
import type { EnvironmentContext } from "../environment-context.js";
import { partOf, worldOf } from "../environment-session.js";
import { checkAdvance } from "./stage-progress.js";

/** The kind of operations that Advance is; Seed began number 0. */
export const stageKind = "stage";

/** Begins the next stage of a task, or finds the operation that did (ENV-STAG-002, ENV-STAG-003). */
export function advance<Data, State>(
  context: EnvironmentContext<Data, State>,
  request: AdvanceRequest,
  maxBytes: number,
): Delivered<AdvanceResponse> {
  const { runtime, definition, prepared, sessions } = context;
  const timeoutMs = clamp(request.timeout, runtime.limits.timeout);
  return sessions.operate<AdvanceResponse>(request.sessionId, {
    kind: stageKind,
    index: request.stageIndex,
    fingerprint: fingerprint(AdvanceRequestSchema, request),
    timeoutMs,
    context: { stage: Stage.SEED },
    check({ state }) {
      if (state === undefined) return;
      if (state.fenced)
        throw new Refusal("EPISODE_ENDED", "a final verification has begun: no stage follows");
      checkAdvance(state.stages);
    },
    async run({ state, index, answerId, execution }) {
      const { stages } = state;
      if (stages === undefined || definition.advance === undefined) {
        throw new Error("a stage began in a task without any");
      }
      const world = worldOf(state);
      const advanced = await definition.advance({
        data: world.data,
        state: world.state,
        stageIndex: index,
        signal: execution.signal,
      });
      checkAuthorAnswer(advanced, advancedShape, { by: "advance", kind: FailureKind.SEED_FAILED });
      const starts = readStarts(prepared, advanced, FailureKind.SEED_FAILED);
      const answer = create(AdvanceResponseSchema, {
        answerId,
        stage: { stageIndex: index, name: stages.names[index] ?? "" },
        agents: starts.agents.map(({ agentId, input, observation, tools }) => ({
          agentId,
          input: [...(input ?? [])],
          ...(observation === undefined ? {} : { observation }),
          tools: [...tools.values()].map(({ described }) => described),
        })),
        nextAgents: [...starts.next],
        ...(advanced.budget === undefined ? {} : { agentBudget: create(BudgetSchema, advanced.budget) }),
        timeout: fromMs(timeoutMs),
      });
      checkAnswerSize(AdvanceResponseSchema, answer, { limit: maxBytes, kind: FailureKind.SEED_FAILED });
      // ENV-STAG-006: from here on the stage is the new one, also for agents whose part of the last one had ended.
      for (const start of starts.agents) {
        const part = partOf(state, start.agentId);
        part.tools = start.tools;
        part.ended = undefined;
        if (start.observation !== undefined) part.observation = start.observation;
      }
      state.next = starts.next;
      state.ended = false;
      Object.assign(stages, { index, verified: false });
      return answer;
    },
  });
}
