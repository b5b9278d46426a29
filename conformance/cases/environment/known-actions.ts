import { type Action, Determinism, type StepResponse } from "../../../gen/index.js";
import type { Reply } from "../../subject/reply.js";
import type { EnvironmentTrial, OpenSession } from "./environment-trial.js";

/** Actions of the good work's first step. */
export function firstActions(t: EnvironmentTrial): Action[] {
  return t.must(t.fixture.sample.good?.steps[0]?.actions, "environment.sample.good.steps");
}

/** Actions that can be taken any number of times in a row without an end of the session. */
export function idleActions(t: EnvironmentTrial): Action[] {
  const { idle, sample } = t.fixture;
  return idle === undefined
    ? t.must(sample.bad?.steps[0]?.actions, "environment.sample.bad.steps, or environment.idle")
    : [idle];
}

/** An action that is refused. */
export function invalidActions(t: EnvironmentTrial): Action[] {
  return [t.must(t.fixture.invalid?.action, "environment.invalid.action")];
}

/** Actions whose step takes a while. */
export function slowActions(t: EnvironmentTrial): Action[] {
  return [t.must(t.fixture.slow?.action, "environment.slow.action")];
}

/** Idle steps from number `from` on; a session that ends under them wants another line of conformance.yaml. */
export async function idle(
  t: EnvironmentTrial,
  session: OpenSession,
  { count, from = 0 }: { readonly count: number; readonly from?: number },
): Promise<StepResponse[]> {
  const actions = idleActions(t);
  const answers: StepResponse[] = [];
  for (let index = from; index < from + count; index += 1) {
    const reply: Reply<StepResponse> = await session.step(index, actions);
    // The fixture's action was not made to be repeated: nothing is known of the subject.
    if (reply.status?.reason === "EPISODE_ENDED") t.may(undefined, "environment.idle");
    answers.push(t.judge.answer(`idle step ${index}`, reply));
  }
  return answers;
}

/** What a step did, apart from ids and times: equal for equal steps of equal sessions where a seed settles everything. */
export function stepOutcome(t: EnvironmentTrial, step: StepResponse): unknown {
  const { stepIndex, outcomes, terminated, truncated, nextAgents } = step;
  if (t.described.declarations?.determinism !== Determinism.SEEDED) return { stepIndex };
  return { stepIndex, outcomes, terminated, truncated, nextAgents };
}
