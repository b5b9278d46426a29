import { create } from "@bufbuild/protobuf";
import {
  type AgentOutcome,
  AgentOutcomeSchema,
  FailureKind,
  type StepResponse,
  StepResponseSchema,
} from "../../../gen/index.js";
import type { EnvironmentContext } from "../environment-context.js";
import { type EnvironmentSession, partOf, worldOf } from "../environment-session.js";
import { objectText } from "../object-text.js";
import { act } from "./act.js";
import type { ReadAction } from "./check-step.js";
import { endStep } from "./end-of-step.js";
import type { GatheredOutcomes, Outcome } from "./gather-outcomes.js";
import { rewardOutcome } from "./step-rewards.js";

/** A step that runs. */
export interface StepRun<Data, State> {
  readonly state: EnvironmentSession<Data, State>;
  /** The step's number. */
  readonly index: number;
  readonly answerId: string;
  /** What runs. Its signal aborts when nobody will use the outcome. */
  readonly execution: { readonly signal: AbortSignal };
}

/**
 * Takes a step in the world and says what came of it for each agent (ENV-STEP-001, ENV-STEP-021, ENV-STEP-024): at once
 * where the author's functions answer at once.
 */
export function takeStep<Data, State>(
  context: EnvironmentContext<Data, State>,
  actions: readonly ReadAction[],
  run: StepRun<Data, State>,
): StepResponse | Promise<StepResponse> {
  const { state: session, index, execution } = run;
  const acted = act(context, actions, { session, stepIndex: index, execution });
  if (acted instanceof Promise) return acted.then((gathered) => respond(context, gathered, run));
  return respond(context, acted, run);
}

/** Enters what came of a step into the session, and says it. */
function respond<Data, State>(
  context: EnvironmentContext<Data, State>,
  gathered: GatheredOutcomes,
  { state: session, index, answerId }: StepRun<Data, State>,
): StepResponse {
  const { terminated, truncated, next } = endStep(session, gathered, index);
  const outcomes = [...gathered.byAgent].map(([agentId, outcome]) =>
    outcomeOf(context, session, { agentId, outcome }),
  );
  session.next = next;
  if (terminated || truncated) session.ended = true;
  return create(StepResponseSchema, {
    answerId,
    stepIndex: index,
    sequence: worldOf(session).feed.last + 1n,
    outcomes,
    terminated,
    truncated,
    nextAgents: [...next],
  });
}

function outcomeOf<Data, State>(
  { definition, prepared }: EnvironmentContext<Data, State>,
  session: EnvironmentSession<Data, State>,
  { agentId, outcome }: { readonly agentId: string; readonly outcome: Outcome },
): AgentOutcome {
  const part = partOf(session, agentId);
  const { stepReward } = prepared;
  const reward = rewardOutcome(part, outcome.reward, { stepReward, range: definition.reward });
  part.observation = outcome.observation;
  return create(AgentOutcomeSchema, {
    agentId,
    observation: outcome.observation,
    ...(reward === undefined ? {} : { reward }),
    terminated: part.ended === "terminated",
    truncated: part.ended === "truncated",
    infoJson: objectText(outcome.info, "a step's info", FailureKind.STEP_FAILED),
  });
}
