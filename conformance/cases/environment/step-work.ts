import { create } from "@bufbuild/protobuf";
import { type Action, ActionSchema, type SampleWork, type StepResponse } from "../../../gen/index.js";
import type { EnvironmentTrial, OpenSession } from "./environment-trial.js";

/** Rewards are equal where they differ by no more than this. */
export const closeEnough = 1e-9;
/** The refusal of whatever comes behind an episode's end. */
export const ended = { code: ["FAILED_PRECONDITION"], reason: ["EPISODE_ENDED"] };
/** The refusal of a name with other content. */
export const conflict = { code: ["ALREADY_EXISTS"], reason: ["OPERATION_CONFLICT"] };

/** The fixture's good work. */
export function goodOf(t: EnvironmentTrial): SampleWork {
  const { good } = t.fixture.sample;
  t.must(good?.steps[0], "environment.sample.good.steps");
  return t.must(good, "environment.sample.good");
}

/** The good work's first step, and one that is valid wherever it comes. */
export function actionsOf(t: EnvironmentTrial): { first: Action[]; any: Action[] } {
  const first = goodOf(t).steps[0]?.actions ?? [];
  const any = t.must(t.fixture.sample.bad?.steps[0]?.actions, "environment.sample.bad.steps");
  return { first, any };
}

/** A step that is named by its action, not by a number. */
export const byAction = (session: OpenSession, actionId: string, actions: readonly Action[]) => ({
  sessionId: session.id,
  name: { case: "actionId" as const, value: actionId },
  actions: [...actions],
});

/** An action of the fixture with something changed in its tool call. */
export function toolAction(
  t: EnvironmentTrial,
  change: { name?: string; argumentsJson?: string; incomplete?: boolean },
): Action {
  const all = [...goodOf(t).steps, ...(t.fixture.sample.bad?.steps ?? [])].flatMap(({ actions }) => actions);
  const found = all.find(({ kind }) => kind.case === "toolCall");
  if (found?.kind.case !== "toolCall") return t.notApplicable("the sample has no tool calls");
  return create(ActionSchema, {
    agentId: found.agentId,
    kind: { case: "toolCall", value: { ...found.kind.value, ...change } },
  });
}

/** What a step did, apart from its answer_id. */
export function effect(answer: StepResponse | undefined): unknown {
  if (answer === undefined) return undefined;
  const { stepIndex, outcomes, terminated, truncated, nextAgents } = answer;
  return { stepIndex, outcomes, terminated, truncated, nextAgents };
}

/** After something refused, the good first step does what it does in a session of its own. */
export async function unchanged(t: EnvironmentTrial, session: OpenSession): Promise<void> {
  const { first } = actionsOf(t);
  const clean = t.judge.answer("step 0 of a clean session", await (await t.open()).step(0, first));
  const after = t.judge.answer("step 0 after the refusal", await session.step(0, first));
  t.judge.equal("what step 0 did after the refusal", effect(after), effect(clean));
}
