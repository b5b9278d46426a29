import { type Action, Feature, type StepRequest, type StepResponse } from "../../../../gen/index.js";
import { milliseconds } from "../../shared/durations.js";
import type { OperationKind } from "../../shared/operation-kind.js";
import type { EnvironmentTrial, OpenSession } from "../environment-trial.js";
import { idleActions, needIdle } from "../known-actions.js";
import {
  askedOperation,
  openOf,
  provocation,
  type SessionOperation,
  sessionOf,
  unaryEnd,
} from "./session-operation.js";

function askedStep(
  t: EnvironmentTrial,
  session: OpenSession,
  { index, actions }: { readonly index: number; readonly actions: Action[] },
): SessionOperation {
  const request = { sessionId: session.id, name: { case: "stepIndex" as const, value: index }, actions };
  const asked = askedOperation(t, {
    request,
    sessionId: session.id,
    async send(calls, step, options) {
      const end = unaryEnd(await calls.step(step as StepRequest, options));
      // A step that asks for no timeout has the one of its session, which the descriptor told.
      return { ...end, timeoutMs: end.timeoutMs ?? milliseconds(session.descriptor.stepTimeout) };
    },
    otherContent: () => ({ ...request, actions: otherActions(t, actions) }),
    close: ({ elsewhere, ...options } = {}) =>
      (elsewhere === true ? t.through(session, t.elsewhere()) : session).close(options),
  });
  return { ...asked, session, index };
}

const text = (actions: readonly Action[]): string =>
  JSON.stringify(actions, (_key, value: unknown) => (typeof value === "bigint" ? String(value) : value));

/** Actions that differ from these, and would be valid at their place. */
function otherActions(t: EnvironmentTrial, actions: readonly Action[]): Action[] {
  const { good, bad } = t.fixture.sample;
  const others = [...(good?.steps ?? []), ...(bad?.steps ?? [])].map((step) => step.actions);
  const other = others.find((one) => text(one) !== text(actions));
  return t.must(other, "environment.sample.bad.steps, with an action unlike the good first one");
}

const first = (t: EnvironmentTrial): Action[] =>
  t.must(t.fixture.sample.good?.steps[0]?.actions, "environment.sample.good.steps");

/** Step, as the shared rules see it. */
export const stepOperation: OperationKind<EnvironmentTrial> = {
  rpc: "Step",
  features: [Feature.STEP],
  failureInAnswer: false,
  creating: false,
  numbered: true,
  available: (t) => t.has(Feature.STEP),
  outcome({ answer, status }) {
    const step = answer as StepResponse | undefined;
    return {
      index: step?.stepIndex,
      outcomes: step?.outcomes,
      ends: [step?.terminated, step?.truncated],
      code: status?.code,
    };
  },
  badPath: (t) => t.fixture.invalid?.action_path ?? "",
  crashText: (t) => t.may(t.fixture.crash, "environment.crash").text,
  prepare: async (t) => askedStep(t, await t.open(), { index: 0, actions: first(t) }),
  async provoke(t, what, init) {
    const action = provocation(t, what, "action");
    return askedStep(t, await t.open(openOf(init)), { index: 0, actions: [action] });
  },
  async following(t, before) {
    const { session, index } = before as SessionOperation;
    await needIdle(t);
    return askedStep(t, session, { index: index + 1, actions: idleActions(t) });
  },
  instead: async (t, refused) => askedStep(t, sessionOf(refused), { index: 0, actions: first(t) }),
  besides: async (t, other) => askedStep(t, sessionOf(other), { index: 0, actions: first(t) }),
};
