import { EnvironmentService, Feature } from "../../../gen/index.js";
import type { CallStatus } from "../../subject/reply.js";
import { type EnvironmentTrial, environmentCheck, type OpenSession } from "./environment-trial.js";
import { idleActions, idlingCheck } from "./known-actions.js";
import { verifyEnd } from "./operations/verify.js";
import { openFrames, stepOf } from "./step-frames.js";

type End = Promise<{ readonly status: CallStatus | undefined }>;

async function* none(): AsyncIterable<never> {}

/** A call of each rpc that belongs to a feature, as a client makes it that knows nothing of the session. */
function featureCalls(t: EnvironmentTrial, { id: sessionId, request }: OpenSession) {
  const agentId = "agent";
  const context = request.context === undefined ? {} : { context: request.context };
  const [action] = t.fixture.sample.bad?.steps[0]?.actions ?? [];
  const actions = action === undefined ? [{ agentId }] : [action];
  const name = { case: "stepIndex" as const, value: 0 };
  const calls: readonly (readonly [Feature, string, () => End])[] = [
    [Feature.STEP, "Step", () => t.calls.step({ sessionId, name, actions })],
    [
      Feature.STEP_STREAM,
      "StepStream",
      async () => {
        const frames = openFrames(t, t.elsewhere());
        frames.send(stepOf(sessionId, 0, []));
        return await frames.end();
      },
    ],
    [Feature.TOOLS, "ListTools", () => t.calls.listTools({ sessionId, agentId })],
    [Feature.STAGES, "Advance", () => t.calls.advance({ sessionId, stageIndex: 1 })],
    [
      Feature.FORK,
      "Fork",
      () =>
        t.calls.fork({
          sessionId: t.id("fork"),
          sourceSessionId: sessionId,
          ...context,
          expectedNextStepIndex: 0,
        }),
    ],
    [Feature.TASK_LISTING, "ListTasks", () => t.calls.listTasks({ split: "train" })],
    [Feature.METRICS, "AggregateMetrics", () => t.calls.aggregateMetrics(none())],
    [
      Feature.WATCH_STEPS,
      "WatchSteps",
      async () => {
        const feed = t.elsewhere().watchSteps({ sessionId });
        // A feed of a live session has no end of its own: what it says first is enough.
        const refused = feed.finish();
        const waited = t.pause(300).then(() => ({ status: undefined }));
        const first = await Promise.race([refused, waited]);
        feed.cancel();
        await refused;
        return first;
      },
    ],
  ];
  return calls;
}

/** R13: what is declared is there, and what is not is UNIMPLEMENTED. */
export const undeclaredChecks = [
  environmentCheck(
    {
      clause: "ALL-ERR-005",
      name: "undeclared-rpcs",
      title: "every rpc of a feature that is not declared answers UNIMPLEMENTED.",
      sendsInvalid: true,
    },
    async (t) => {
      const session = await t.open();
      const calls = featureCalls(t, session).filter(([feature]) => !t.has(feature));
      if (calls.length === 0) t.notApplicable("every feature with an rpc of its own is declared");
      for (const [feature, rpc, ask] of calls) {
        const { status } = await ask();
        t.judge.equal(`the code of ${rpc} without ${Feature[feature]}`, status?.code, "UNIMPLEMENTED");
      }
      t.judge.answer("KeepAlive after it", await t.calls.keepAlive({ sessionId: session.id }));
    },
  ),
  environmentCheck(
    {
      clause: "ALL-ERR-008",
      name: "undeclared-use",
      title: "a Verify without a session, or a Seed by task id, without its feature is FEATURE_UNSUPPORTED.",
      sendsInvalid: true,
    },
    async (t) => {
      const task = t.must(t.fixture.sample.task, "environment.sample.task");
      let asked = 0;
      if (!t.has(Feature.STATELESS_VERIFY)) {
        const verificationId = t.id("verification");
        const value = { verificationId, context: t.context(), task };
        const reply = await t.calls.verify({ target: { case: "stateless", value } }).finish();
        t.judge.refused("a Verify without a session", verifyEnd(reply));
        asked += 1;
      }
      if (!t.has(Feature.TASK_LISTING) && task.taskId !== undefined) {
        const source = { case: "taskId" as const, value: task.taskId };
        t.judge.refused("a Seed by task id", await t.calls.seed(t.seedRequest({ source })));
        asked += 1;
      }
      if (asked === 0) t.notApplicable("every use of the rpcs that are served is declared");
    },
  ),
  environmentCheck(
    {
      clause: "ALL-DESC-005",
      name: "declared-rpcs",
      title: "no rpc of a declared feature answers UNIMPLEMENTED.",
    },
    async (t) => {
      const session = await t.open();
      const calls = featureCalls(t, session).filter(([feature]) => t.has(feature));
      if (calls.length === 0) t.notApplicable("no feature with an rpc of its own is declared");
      for (const [feature, rpc, ask] of calls) {
        const { status } = await ask();
        t.judge.differ(`the code of ${rpc} with ${Feature[feature]}`, status?.code, "UNIMPLEMENTED");
      }
    },
  ),
  environmentCheck(
    {
      clause: "ALL-DESC-011",
      name: "isolation",
      title: "the isolation told in the verdict is the descriptor's, and one that Describe declares.",
    },
    async (t) => {
      const session = await t.open();
      const { submission } = t.must(t.fixture.sample.bad, "environment.sample.bad");
      const { outcome } = t.result("Verify", await session.verify(0, { submission }));
      const isolation = outcome.case === "verdict" ? outcome.value.provenance?.isolation : undefined;
      t.judge.equal("provenance.isolation", isolation, session.descriptor.verifyIsolation);
      const declared = t.described.verifyIsolations;
      t.judge.that("verify_isolation", declared.includes(session.descriptor.verifyIsolation), {
        expected: `one of ${declared.join(", ")}`,
        actual: session.descriptor.verifyIsolation,
      });
      const { sandbox, network } = session.descriptor;
      t.judge.equal("network is told where there is a box", network !== undefined, sandbox !== undefined);
    },
  ),
  idlingCheck(
    {
      clause: "ALL-DESC-011",
      name: "max-steps",
      title: "a limit of two steps is echoed, and the session is truncated by it.",
      features: [Feature.STEP],
    },
    async (t) => {
      const task = t.must(t.fixture.sample.task, "environment.sample.task");
      const limits = { ...task.limits, $typeName: "touchstone.v1.TaskLimits" as const, maxSteps: 2 };
      const session = await t.open({ source: { case: "task", value: { ...task, limits } } });
      t.judge.equal("limits.max_steps", session.descriptor.limits?.maxSteps, 2);
      const idle = idleActions(t);
      const first = t.judge.answer("step 0", await session.step(0, idle));
      t.judge.equal("truncated at step 0", first.truncated, false);
      const second = t.judge.answer("step 1", await session.step(1, idle));
      t.judge.equal("truncated at step 1", second.truncated, true);
    },
  ),
  environmentCheck(
    {
      clause: "ALL-SCOPE-003",
      name: "endpoint",
      title: "where Seed answers an endpoint, it serves the session.",
    },
    async (t) => {
      const session = await t.open();
      const { endpoint } = session.descriptor;
      if (endpoint === undefined) return t.notApplicable("the session goes on where it was opened");
      const there = t.connectTo(endpoint).client(EnvironmentService);
      const reply = await there.keepAlive({ sessionId: session.id });
      // Where nothing listens it serves nobody: here a lost connection is an answer.
      t.judge.survives("KeepAlive there", reply);
      t.judge.answer("KeepAlive there", reply);
      t.judge.answer("Close there", await t.through(session, there).close());
    },
  ),
];
