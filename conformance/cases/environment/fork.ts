import type { MessageInitShape } from "@bufbuild/protobuf";
import { Feature, type ForkRequestSchema, type ForkResponse } from "../../../gen/index.js";
import type { CheckInit } from "../../check/check.js";
import { duration, milliseconds } from "../shared/durations.js";
import type { EnvironmentTrial, OpenSession } from "./environment-trial.js";
import { firstActions, idle, idleActions, idlingCheck, stepOutcome } from "./known-actions.js";

type ForkInit = MessageInitShape<typeof ForkRequestSchema>;

const conflict = { code: ["ALREADY_EXISTS"], reason: ["OPERATION_CONFLICT"] };
const shortLeaseMs = 1_000;

const check = (init: Omit<CheckInit, "features">, run: (t: EnvironmentTrial) => Promise<void>) =>
  idlingCheck({ features: [Feature.STEP, Feature.FORK], ...init }, run);

/** A Fork of a session whose next step is number `at`, under a new id. */
function forkRequest(t: EnvironmentTrial, source: OpenSession, at: number): ForkInit & { sessionId: string } {
  return {
    sessionId: t.id("fork"),
    sourceSessionId: source.id,
    ...(source.request.context === undefined ? {} : { context: source.request.context }),
    expectedNextStepIndex: at,
  };
}

/** The session that a Fork has made. */
async function forked(
  t: EnvironmentTrial,
  source: OpenSession,
  request: ForkInit & { sessionId: string },
): Promise<{ readonly fork: OpenSession; readonly answer: ForkResponse }> {
  const answer = t.judge.answer("Fork", await t.calls.fork(request));
  const { session: descriptor } = answer;
  t.judge.equal("session.session_id", descriptor?.sessionId, request.sessionId);
  if (descriptor === undefined) throw new Error("a descriptor that was judged to be there is not");
  const seed = { ...source.request, sessionId: request.sessionId };
  return {
    fork: t.through({ ...source, id: request.sessionId, request: seed, descriptor }, t.calls),
    answer,
  };
}

const fork = async (t: EnvironmentTrial, source: OpenSession, at: number): Promise<OpenSession> =>
  (await forked(t, source, forkRequest(t, source, at))).fork;

async function rewardOf(t: EnvironmentTrial, session: OpenSession, work: "good" | "bad"): Promise<unknown> {
  const { submission } = t.must(t.fixture.sample[work], `environment.sample.${work}`);
  const { outcome } = t.result("Verify", await session.verify(0, { final: true, submission }));
  return outcome.case === "verdict" ? outcome.value.reward : outcome.value;
}

/** Fork: copies of live sessions. */
export const forkChecks = [
  check(
    {
      clause: "ENV-FORK-001",
      name: "goes-on-alike",
      title: "after the first good step source and fork take the rest alike, to the same verdict.",
      stacks: ["connect-node", "grpc-js"],
    },
    async (t) => {
      const good = t.must(t.fixture.sample.good, "environment.sample.good");
      const source = await t.open();
      t.judge.answer("the first step", await source.step(0, firstActions(t)));
      const copy = await fork(t, source, 1);
      const rest = { ...good, steps: good.steps.slice(1) };
      const [here, there] = [await source.play(rest, 1), await copy.play(rest, 1)];
      const did = (steps: typeof here): unknown[] => steps.map((step) => stepOutcome(t, step));
      t.judge.equal("what the fork's steps did", did(there), did(here));
      t.judge.equal("the fork's reward", await rewardOf(t, copy, "good"), await rewardOf(t, source, "good"));
    },
  ),
  check(
    {
      clause: "ENV-FORK-002",
      name: "apart",
      title: "good work in the source and bad work in its fork get their own rewards.",
    },
    async (t) => {
      const { good, bad } = t.fixture.sample;
      const source = await t.open();
      const copy = await fork(t, source, 0);
      await source.play(t.must(good, "environment.sample.good"));
      await copy.play(t.must(bad, "environment.sample.bad"));
      t.judge.equal("the source's reward", await rewardOf(t, source, "good"), good?.expectedReward);
      t.judge.equal("the fork's reward", await rewardOf(t, copy, "bad"), bad?.expectedReward);
    },
  ),
  check(
    {
      clause: "ENV-FORK-002",
      name: "closed-apart",
      title: "a fork goes on after its source is closed, and a source after its fork is.",
    },
    async (t) => {
      const source = await t.open();
      const [first, second] = [await fork(t, source, 0), await fork(t, source, 0)];
      t.judge.answer("Close of a fork", await first.close());
      t.judge.answer("a step of the source", await source.step(0, idleActions(t)));
      t.judge.answer("Close of the source", await source.close());
      t.judge.answer("a step of the other fork", await second.step(0, idleActions(t)));
    },
  ),
  check(
    {
      clause: "ENV-FORK-003",
      name: "counts-on",
      title: "a fork at step 2 takes step 2 next, and refuses another step 0.",
      sendsInvalid: true,
    },
    async (t) => {
      const source = await t.open();
      await idle(t, source, { count: 2 });
      const copy = await fork(t, source, 2);
      t.judge.refused("step 0 of the fork", await copy.step(0, firstActions(t)), {
        code: ["FAILED_PRECONDITION", "ALREADY_EXISTS"],
        reason: ["OUT_OF_ORDER", "OPERATION_CONFLICT"],
      });
      const next = t.judge.answer("step 2 of the fork", await copy.step(2, idleActions(t)));
      t.judge.equal("its step_index", next.stepIndex, 2);
    },
  ),
  check(
    {
      clause: "ENV-FORK-004",
      name: "own-lease",
      title: "a fork that is kept alive outlives its silent source; tokens of the two are unlike.",
      lane: "waiting",
      within: 60,
    },
    async (t) => {
      const source = await t.open({ lease: duration(shortLeaseMs) });
      const lease = milliseconds(source.descriptor.lease?.duration) ?? shortLeaseMs;
      const request = { ...forkRequest(t, source, 0), lease: duration(shortLeaseMs) };
      const { fork: copy } = await forked(t, source, request);
      const tokens = [source, copy].map(({ descriptor }) => descriptor.agents.map(({ token }) => token));
      if (t.has(Feature.PRINCIPALS)) {
        t.judge.that("the tokens of both", new Set(tokens.flat()).size === tokens.flat().length, {
          expected: "to be unlike",
          actual: "a token twice",
        });
      }
      for (let waited = 0; waited < lease + 1_000; waited += lease / 3) {
        await t.pause(lease / 3);
        t.judge.answer("KeepAlive of the fork", await t.calls.keepAlive({ sessionId: copy.id }));
      }
      const { status } = await t.calls.keepAlive({ sessionId: source.id });
      t.judge.equal("the reason of the source's KeepAlive", status?.reason, "SESSION_EXPIRED");
    },
  ),
  check(
    {
      clause: "ENV-FORK-005",
      name: "no-such-source",
      title: "a fork of an unknown session is SESSION_UNKNOWN, of a closed one SESSION_CLOSED.",
      sendsInvalid: true,
    },
    async (t) => {
      const source = await t.open();
      const unknown = { ...forkRequest(t, source, 0), sourceSessionId: t.id("unknown") };
      t.judge.refused("Fork of an unknown id", await t.calls.fork(unknown), {
        code: ["NOT_FOUND"],
        reason: ["SESSION_UNKNOWN"],
      });
      await fork(t, source, 0);
      t.judge.answer("Close", await source.close());
      t.judge.refused("Fork of a closed one", await t.calls.fork(forkRequest(t, source, 0)), {
        code: ["FAILED_PRECONDITION"],
        reason: ["SESSION_CLOSED"],
      });
    },
  ),
  check(
    {
      clause: "ENV-FORK-006",
      name: "another-index",
      title: "a Fork that expects one step more, or one less, is refused OUT_OF_ORDER; the right one is not.",
      sendsInvalid: true,
    },
    async (t) => {
      const source = await t.open();
      await idle(t, source, { count: 1 });
      const request = forkRequest(t, source, 1);
      for (const expectedNextStepIndex of [0, 2]) {
        const off = { ...request, expectedNextStepIndex };
        const { metadata } = t.judge.refused(`${expectedNextStepIndex} expected`, await t.calls.fork(off));
        t.judge.equal("metadata expected_index", metadata["expected_index"], "1");
      }
      await forked(t, source, request);
    },
  ),
  check(
    {
      clause: "ENV-FORK-007",
      name: "no-box",
      title: "where the session has no box, sandbox_copied is false.",
    },
    async (t) => {
      const source = await t.open();
      if (source.descriptor.sandbox !== undefined) {
        t.notApplicable("the session has a box: what a fork has of it is seen from inside alone");
      }
      const { answer } = await forked(t, source, forkRequest(t, source, 0));
      t.judge.equal("sandbox_copied", answer.sandboxCopied, false);
      t.judge.equal("session.sandbox", answer.session?.sandbox, undefined);
    },
  ),
  check(
    {
      clause: "ENV-FORK-008",
      name: "named",
      title: "by its new id a Fork is joined, replayed, and refused other content, a Seed's too.",
      sendsInvalid: true,
    },
    async (t) => {
      const source = await t.open();
      const request = forkRequest(t, source, 0);
      const answers = await Promise.all(Array.from({ length: 4 }, () => t.elsewhere().fork(request)));
      const [first, ...others] = answers.map((reply, index) => t.judge.answer(`Fork ${index}`, reply));
      t.judge.each("the forks at once", others, (other) => t.judge.equal("its answer", other, first));
      t.judge.answer("a step of the source", await source.step(0, idleActions(t)));
      t.judge.equal("a later repeat", t.judge.answer("it", await t.calls.fork(request)), first);
      const other = { ...request, sourceSessionId: (await t.open()).id };
      t.judge.refused("another source", await t.calls.fork(other), conflict);
      const seed = t.seedRequest({ sessionId: request.sessionId });
      t.judge.refused("a Seed into the fork's id", await t.calls.seed(seed), conflict);
      const taken = { ...forkRequest(t, source, 1), sessionId: source.id };
      t.judge.refused("a Fork into the source's id", await t.calls.fork(taken), conflict);
    },
  ),
];
