import { type Action, Determinism, type StepResponse } from "../../../gen/index.js";
import type { EnvironmentFixture } from "../../fixture/environment-fixture.js";
import type { Reply } from "../../subject/reply.js";
import { type EnvironmentTrial, environmentCheck, type OpenSession } from "./environment-trial.js";

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

/** Idle actions in a row that end no session: enough to tell a world in which they can be repeated. */
const tries = 3;
/** What is known of a fixture's idle actions: looked at once a run. */
const looked = new WeakMap<EnvironmentFixture, Promise<boolean>>();

/**
 * Judges nothing where idle actions end the session: `environment.idle` would name one that does not. Every check that
 * takes them asks first.
 */
export async function needIdle(t: EnvironmentTrial): Promise<void> {
  // What hindered another check's look says nothing of this one's.
  const known = await looked.get(t.fixture)?.catch(() => undefined);
  if (!(known ?? (await look(t)))) {
    t.may(undefined, "environment.idle, an action that never ends the session");
  }
}

function look(t: EnvironmentTrial): Promise<boolean> {
  const looking = canIdle(t);
  looked.set(t.fixture, looking);
  return looking;
}

async function canIdle(t: EnvironmentTrial): Promise<boolean> {
  const session = await t.open();
  for (let index = 0; index < tries; index += 1) {
    const { message, status } = await session.step(index, idleActions(t));
    if (message?.terminated === true || message?.truncated === true) return false;
    if (status?.reason === "EPISODE_ENDED") return false;
  }
  return true;
}

/** A check that takes idle steps. */
export function idlingCheck(
  init: Parameters<typeof environmentCheck>[0],
  run: (t: EnvironmentTrial) => Promise<void>,
): ReturnType<typeof environmentCheck> {
  return environmentCheck(init, async (t) => {
    await needIdle(t);
    await run(t);
  });
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
