import { clone, create } from "@bufbuild/protobuf";
import {
  AgentEndSchema,
  type AgentSubmission,
  Determinism,
  FailureKind,
  Feature,
  ItemSchema,
  Retry,
  RewardAuthority,
  type SampleWork,
  StopReason,
  type Submission,
  SubmissionSchema,
  type Verdict,
  VerifyIsolation,
} from "../../../gen/index.js";
import {
  type EnvironmentTrial,
  environmentCheck,
  type OpenSession,
  type VerifyInit,
} from "./environment-trial.js";

const closeEnough = 1e-9;
const ended = { code: ["FAILED_PRECONDITION"], reason: ["EPISODE_ENDED"] };

function workOf(t: EnvironmentTrial, which: "good" | "bad"): SampleWork {
  return t.must(t.fixture.sample[which], `environment.sample.${which}`);
}

/** Plays the work's steps, where there are steps. */
async function played(t: EnvironmentTrial, work: SampleWork): Promise<OpenSession> {
  const session = await t.open();
  if (t.has(Feature.STEP)) await session.play(work);
  return session;
}

async function verdictOf(
  t: EnvironmentTrial,
  session: OpenSession,
  index: number,
  init: VerifyInit,
): Promise<Verdict> {
  const { outcome } = t.result(`Verify ${index}`, await session.verify(index, init));
  t.judge.that(`the outcome of Verify ${index}`, outcome.case === "verdict", {
    expected: "a verdict",
    actual: outcome.value,
  });
  if (outcome.case !== "verdict") throw new Error("a verdict that was judged to be there is not");
  return outcome.value;
}

function near(t: EnvironmentTrial, what: string, verdict: Verdict, expected: number): void {
  const value = verdict.reward?.value;
  t.judge.that(what, value !== undefined && Math.abs(value - expected) <= closeEnough, {
    expected: String(expected),
    actual: value ?? "no reward",
  });
}

/** Reward of no work: 0 where it is in range. */
function noWork(t: EnvironmentTrial): number {
  const { minimum = 0, maximum = 0 } = t.described.declarations?.reward ?? {};
  return Math.min(Math.max(0, minimum), maximum);
}

/** The submission of an agent that handed in nothing. */
const nothing = (submission: Submission | undefined): Submission =>
  create(SubmissionSchema, { agents: (submission?.agents ?? []).map(({ agentId }) => ({ agentId })) });

/** Verify. */
export const verifyChecks = [
  environmentCheck(
    {
      clause: "ENV-VRFY-002",
      name: "expected-rewards",
      title: "the good work gets its expected reward, and the bad its own.",
      stacks: ["connect-node", "grpc-js"],
    },
    async (t) => {
      for (const which of ["good", "bad"] as const) {
        const work = workOf(t, which);
        const expected = t.must(work.expectedReward?.value, `environment.sample.${which}.expectedReward`);
        const verdict = await verdictOf(t, await played(t, work), 0, {
          final: true,
          submission: work.submission,
        });
        near(t, `the reward of the ${which} work`, verdict, expected);
      }
    },
  ),
  environmentCheck(
    {
      clause: "ENV-VRFY-003",
      name: "zero-is-present",
      title: "a measured 0 is a reward that is there.",
    },
    async (t) => {
      const bad = workOf(t, "bad");
      t.may(
        bad.expectedReward?.value === 0 ? true : undefined,
        "environment.sample.bad with expectedReward 0",
      );
      const verdict = await verdictOf(t, await played(t, bad), 0, {
        final: true,
        submission: bad.submission,
      });
      t.judge.that("verdict.reward", verdict.reward !== undefined, { expected: "0", actual: "absent" });
    },
  ),
  environmentCheck(
    {
      clause: "ENV-VRFY-005",
      name: "invalid-reward",
      title: "a reward that is not finite or out of range is failure INVALID_REWARD.",
    },
    async (t) => {
      const all = t.may(t.fixture.invalid_rewards, "environment.invalid_rewards");
      const submissions = all.flatMap(({ submission }) => submission ?? []);
      t.may(submissions[0], "environment.invalid_rewards[].submission");
      for (const [index, submission] of submissions.entries()) {
        const session = await t.open();
        const { outcome } = t.result(`Verify of number ${index}`, await session.verify(0, { submission }));
        t.judge.equal("the outcome", outcome.case, "failure");
        t.judge.equal(
          "its kind",
          outcome.case === "failure" ? outcome.value.kind : undefined,
          FailureKind.INVALID_REWARD,
        );
      }
    },
  ),
  environmentCheck(
    {
      clause: "ENV-VRFY-006",
      name: "already-combined",
      title: "the verdict's reward is the episode's, step rewards in it as step_reward_included says.",
    },
    async (t) => {
      const good = workOf(t, "good");
      const expected = t.must(good.expectedReward?.value, "environment.sample.good.expectedReward");
      const session = await t.open();
      const steps = t.has(Feature.STEP) ? await session.play(good) : [];
      const verdict = await verdictOf(t, session, 0, { final: true, submission: good.submission });
      near(t, "the combined reward", verdict, expected);
      const rewarded = steps.some(({ outcomes }) => outcomes.some(({ reward }) => reward !== undefined));
      t.judge.that("step_reward_included", rewarded || !verdict.stepRewardIncluded, {
        expected: "false where no step has a reward",
        actual: verdict.stepRewardIncluded,
      });
    },
  ),
  environmentCheck(
    {
      clause: "ENV-VRFY-007",
      name: "empty-submission",
      title: "an empty submission is a verdict, whether it is absent or of agents that handed in nothing.",
    },
    async (t) => {
      await verdictOf(t, await t.open(), 0, { final: true });
      const submission = nothing(workOf(t, "good").submission);
      await verdictOf(t, await t.open(), 0, { final: true, submission });
    },
  ),
  environmentCheck(
    {
      clause: "ENV-VRFY-008",
      name: "unappliable-artifacts",
      title: "empty and unappliable artifacts are a verdict of no work, each with its own diagnostics.",
    },
    async (t) => {
      const { names } = t.must(t.fixture.artifacts, "environment.artifacts");
      const agentId = workOf(t, "good").submission?.agents[0]?.agentId ?? "agent";
      const told: string[] = [];
      for (const bytes of [
        new Uint8Array(0),
        Uint8Array.from({ length: 1_024 }, (_, at) => 128 + ((at * 37) % 120)),
      ]) {
        const submission = create(SubmissionSchema, {
          agents: [
            {
              agentId,
              artifacts: names.map((name) => ({ name, body: { case: "inline" as const, value: bytes } })),
            },
          ],
        });
        const verdict = await verdictOf(t, await t.open(), 0, { final: true, submission });
        near(t, `the reward of ${bytes.byteLength} bytes`, verdict, noWork(t));
        told.push(verdict.diagnosticsJson);
      }
      t.judge.differ("diagnostics of noise", told[1], told[0]);
    },
  ),
  environmentCheck(
    {
      clause: "ENV-VRFY-009",
      name: "cannot-run",
      title: "a verifier that cannot run is a failure, never a number.",
    },
    async (t) => {
      const submission = t.may(t.fixture.never?.submission, "environment.never.submission");
      const { outcome } = t.result("Verify", await (await t.open()).verify(0, { submission }));
      t.judge.equal("the outcome", outcome.case, "failure");
    },
  ),
  environmentCheck(
    {
      clause: "ENV-VRFY-010",
      name: "budget-end",
      title: "work whose agent ended by a budget gets the reward of the same work done.",
    },
    async (t) => {
      const good = workOf(t, "good");
      const expected = t.must(good.expectedReward?.value, "environment.sample.good.expectedReward");
      for (const stopReason of [StopReason.MAX_TURNS, StopReason.DONE]) {
        const submission = changed(good.submission, (agent) => {
          agent.agentEnd = create(AgentEndSchema, { agentId: agent.agentId, stopReason });
        });
        const verdict = await verdictOf(t, await played(t, good), 0, { final: true, submission });
        near(t, `the reward with ${StopReason[stopReason]}`, verdict, expected);
      }
    },
  ),
  environmentCheck(
    {
      clause: "ENV-VRFY-011",
      name: "not-final",
      title: "after a Verify that is not final the session is steppable and verifiable.",
    },
    async (t) => {
      const good = workOf(t, "good");
      const session = await t.open();
      await verdictOf(t, session, 0, { submission: good.submission });
      if (t.has(Feature.STEP)) await session.play(good);
      await verdictOf(t, session, 1, { final: true, submission: good.submission });
    },
  ),
  environmentCheck(
    {
      clause: "ENV-FENC-008",
      name: "no-fence",
      title: "a Verify that is not final fences nothing: steps and their rewards go on as in a clean run.",
      features: [Feature.STEP],
    },
    async (t) => {
      const good = workOf(t, "good");
      const rewards = async (session: OpenSession): Promise<unknown> =>
        (await session.play(good)).map(({ outcomes }) => outcomes.map(({ reward }) => reward?.value));
      const clean = await rewards(await t.open());
      const session = await t.open();
      await verdictOf(t, session, 0, { submission: workOf(t, "bad").submission });
      t.judge.equal("step rewards after it", await rewards(session), clean);
    },
  ),
  environmentCheck(
    {
      clause: "ENV-VRFY-012",
      name: "over-its-timeout",
      title: "a verification over its timeout is failure TIMEOUT.",
    },
    async (t) => {
      const submission = t.may(t.fixture.slow?.submission, "environment.slow.submission");
      const { outcome } = t.result(
        "Verify with a timeout of 200 ms",
        await (await t.open()).verify(0, { submission, timeoutMs: 200 }),
      );
      t.judge.equal("the outcome", outcome.case, "failure");
      t.judge.equal(
        "its kind",
        outcome.case === "failure" ? outcome.value.kind : undefined,
        FailureKind.TIMEOUT,
      );
    },
  ),
  environmentCheck(
    {
      clause: "ENV-VRFY-013",
      name: "rate-limited",
      title: "a judge that is rate limited is a failure with NEXT_INDEX; the next index gives the verdict.",
    },
    async (t) => {
      const { submission } = t.may(t.fixture.rate_limited, "environment.rate_limited");
      const session = await t.open();
      const { outcome } = t.result("Verify 0", await session.verify(0, { submission }));
      t.judge.equal("the outcome", outcome.case, "failure");
      t.judge.equal(
        "its retry",
        outcome.case === "failure" ? outcome.value.retry : undefined,
        Retry.NEXT_INDEX,
      );
      await verdictOf(t, session, 1, { submission });
    },
  ),
  environmentCheck(
    {
      clause: "ENV-VRFY-024",
      name: "final-then-next-index",
      title: "after a final Verify failed with NEXT_INDEX the next index verifies what was submitted first.",
    },
    async (t) => {
      const { submission } = t.may(t.fixture.rate_limited, "environment.rate_limited");
      const session = await t.open();
      const first = t.result("Verify 0", await session.verify(0, { final: true, submission }));
      t.judge.equal("the first outcome", first.outcome.case, "failure");
      if (t.has(Feature.STEP)) {
        const actions = workOf(t, "bad").steps[0]?.actions ?? [];
        t.judge.refused("a step behind the fence", await session.step(0, actions), ended);
      }
      await verdictOf(t, session, 1, { final: true });
    },
  ),
  environmentCheck(
    {
      clause: "ENV-VRFY-014",
      name: "masked",
      title: "a masked verdict has a reason and keeps its reward.",
    },
    async (t) => {
      const { submission } = t.may(t.fixture.masked, "environment.masked");
      const verdict = await verdictOf(t, await t.open(), 0, { submission });
      t.judge.that("verdict.masked", (verdict.masked?.reason ?? "") !== "", {
        expected: "a reason",
        actual: verdict.masked,
      });
      t.judge.that("verdict.reward", verdict.reward !== undefined, {
        expected: "to be kept",
        actual: "absent",
      });
    },
  ),
  environmentCheck(
    {
      clause: "ENV-VRFY-015",
      name: "unreadable-item",
      title: "reasoning and opaque items beside the answer change nothing, or are refused by name.",
    },
    async (t) => {
      const good = workOf(t, "good");
      const expected = t.must(good.expectedReward?.value, "environment.sample.good.expectedReward");
      const extra = [
        create(ItemSchema, { itemId: t.id("item"), kind: { case: "reasoning", value: {} } }),
        create(ItemSchema, {
          itemId: t.id("item"),
          kind: { case: "opaque", value: { type: "x:y", json: "{}" } },
        }),
      ];
      for (const item of extra) {
        const submission = changed(good.submission, (agent) => agent.items.unshift(item));
        const session = await played(t, good);
        const reply = await session.verify(0, { final: true, submission });
        if (reply.status === undefined) {
          const { outcome } = t.result(`Verify with ${item.kind.case}`, reply);
          t.judge.equal("the outcome", outcome.case, "verdict");
          if (outcome.case === "verdict")
            near(t, `the reward beside ${item.kind.case}`, outcome.value, expected);
        } else {
          const status = t.judge.refused(`Verify with ${item.kind.case}`, reply, {
            code: ["INVALID_ARGUMENT"],
            reason: ["INVALID_FIELD"],
          });
          t.judge.names("BadRequest", status, "submission.agents[0].items[0]");
        }
      }
    },
  ),
  environmentCheck(
    {
      clause: "ENV-VRFY-017",
      name: "same-verdict",
      title: "SEEDED: equal sessions and submissions get equal verdicts.",
    },
    async (t) => {
      if (t.described.declarations?.determinism !== Determinism.SEEDED) {
        t.notApplicable("the subject does not declare SEEDED");
      }
      const good = workOf(t, "good");
      const verdict = async (): Promise<Verdict> =>
        verdictOf(t, await played(t, good), 0, { final: true, submission: good.submission });
      const one = await verdict();
      const two = await verdict();
      t.judge.equal("the second reward", two.reward, one.reward);
      t.judge.equal("the second components", two.components, one.components);
      t.judge.equal("the second success", two.success, one.success);
    },
  ),
  environmentCheck(
    {
      clause: "ENV-VRFY-018",
      name: "after-final",
      title: "after a final verdict a new verification is refused EPISODE_ENDED, and the first replays.",
      sendsInvalid: true,
    },
    async (t) => {
      const { submission } = workOf(t, "good");
      const session = await t.open();
      const first = t.result("Verify 0", await session.verify(0, { final: true, submission }));
      t.judge.refused("Verify 1", await session.verify(1, { final: true, submission }), ended);
      const again = t.result("Verify 0 again", await session.verify(0, { final: true, submission }));
      t.judge.equal("the repeat", again, first);
    },
  ),
  environmentCheck(
    {
      clause: "ENV-VRFY-019",
      name: "provenance",
      title:
        "provenance names implementation, version, verifier revision, task digest, isolation, authority.",
    },
    async (t) => {
      const good = workOf(t, "good");
      const session = await played(t, good);
      const { provenance } = await verdictOf(t, session, 0, { final: true, submission: good.submission });
      for (const field of ["implementation", "version", "verifierRevision"] as const) {
        t.judge.differ(`provenance.${field}`, provenance?.[field] ?? "", "");
      }
      t.judge.equal("provenance.task_digest", provenance?.taskDigest, session.descriptor.task?.digest);
      t.judge.differ("provenance.authority", provenance?.authority ?? 0, RewardAuthority.UNSPECIFIED);
      t.judge.differ("provenance.isolation", provenance?.isolation ?? 0, VerifyIsolation.UNSPECIFIED);
    },
  ),
  environmentCheck(
    {
      clause: "ENV-ISOL-001",
      name: "declared",
      title: "the isolation used is one that Describe declares, and the verdict tells it.",
    },
    async (t) => {
      const good = workOf(t, "good");
      const { provenance } = await verdictOf(t, await played(t, good), 0, {
        final: true,
        submission: good.submission,
      });
      const isolation = provenance?.isolation ?? VerifyIsolation.UNSPECIFIED;
      t.judge.that("provenance.isolation", t.described.verifyIsolations.includes(isolation), {
        expected: t.described.verifyIsolations.map((one) => VerifyIsolation[one]).join(" or "),
        actual: VerifyIsolation[isolation] ?? isolation,
      });
    },
  ),
  environmentCheck(
    {
      clause: "ENV-FENC-001",
      name: "no-step-after",
      title: "after a final Verify a step is refused EPISODE_ENDED.",
      features: [Feature.STEP],
      sendsInvalid: true,
    },
    async (t) => {
      const session = await t.open();
      const actions = t.must(t.fixture.sample.bad?.steps[0]?.actions, "environment.sample.bad.steps");
      t.judge.answer("step 0", await session.step(0, actions));
      await verdictOf(t, session, 0, { final: true, submission: workOf(t, "bad").submission });
      t.judge.refused("step 1", await session.step(1, actions), ended);
    },
  ),
  environmentCheck(
    {
      clause: "ENV-FENC-001",
      name: "no-step-during",
      title: "while a final Verify runs a step is refused EPISODE_ENDED, or waits and then is.",
      features: [Feature.STEP],
      sendsInvalid: true,
    },
    async (t) => {
      const submission = t.may(t.fixture.slow?.submission, "environment.slow.submission");
      const actions = t.must(t.fixture.sample.bad?.steps[0]?.actions, "environment.sample.bad.steps");
      const session = await t.open();
      const verifying = session.verify(0, { final: true, submission });
      await t.pause(100);
      const step = await session.step(0, actions);
      t.result("Verify 0", await verifying);
      t.judge.refused("a step during it", step, {
        code: ["FAILED_PRECONDITION"],
        reason: ["EPISODE_ENDED", "SESSION_BUSY"],
      });
      t.judge.refused("a step after it", await session.step(0, actions), ended);
    },
  ),
  environmentCheck(
    {
      clause: "ENV-FENC-007",
      name: "waits-for-step",
      title: "a final Verify ends, or waits for, the step that runs: the step's outcome comes first.",
      features: [Feature.STEP],
    },
    async (t) => {
      const slow = t.must(t.fixture.slow?.action, "environment.slow.action");
      const session = await t.open();
      const order: string[] = [];
      const step = session.step(0, [slow]).finally(() => order.push("step"));
      await t.pause(100);
      if (order.length > 0) t.judge.inconclusive("the slow step ended before Verify was asked");
      const reply = await session
        .verify(0, { final: true, submission: workOf(t, "bad").submission })
        .finally(() => order.push("verify"));
      await step;
      t.result("Verify", reply);
      t.judge.equal("the order in which they ended", order, ["step", "verify"]);
    },
  ),
  environmentCheck(
    {
      clause: "ENV-SEED-016",
      name: "state-size",
      title: "verifier_state is 64 KiB at most.",
    },
    async (t) => {
      const { verifierState } = (await t.open()).descriptor;
      t.judge.that("bytes of verifier_state", verifierState.byteLength <= 65_536, {
        expected: "65,536 at most",
        actual: verifierState.byteLength,
      });
    },
  ),
  environmentCheck(
    {
      clause: "ENV-SEED-021",
      name: "state-sealed",
      title: "verifier_state shows no privileged text, and is another one for each session.",
    },
    async (t) => {
      const secrets = t.must(t.fixture.privileged, "environment.privileged");
      const [one, two] = [
        (await t.open()).descriptor.verifierState,
        (await t.open()).descriptor.verifierState,
      ];
      if (one.byteLength === 0) t.notApplicable("the subject's descriptors have no verifier_state");
      const text = Buffer.from(one).toString("latin1");
      t.judge.each("privileged texts", secrets, (secret) =>
        t.judge.equal(
          "verifier_state shows it",
          text.includes(Buffer.from(secret).toString("latin1")),
          false,
        ),
      );
      t.judge.differ("verifier_state of a second session", two, one);
    },
  ),
  environmentCheck(
    {
      clause: "ENV-SLVR-003",
      name: "state-altered",
      title: "verifier_state with a flipped bit, or of another session, is refused VERIFIER_STATE_INVALID.",
      sendsInvalid: true,
    },
    async (t) => {
      const { submission } = workOf(t, "good");
      const [session, other] = [await t.open(), await t.open()];
      const own = session.descriptor.verifierState;
      const invalid = { code: ["INVALID_ARGUMENT"], reason: ["VERIFIER_STATE_INVALID"] };
      const wrong =
        own.byteLength === 0
          ? [Uint8Array.of(1, 2, 3)]
          : [
              ...[0, 1, 2, 3, 4, 5, 6, 7].map((part) =>
                flipped(own, Math.floor((own.byteLength * part) / 8)),
              ),
              other.descriptor.verifierState,
            ];
      for (const [index, verifierState] of wrong.entries()) {
        const reply = await session.verify(0, { submission, verifierState });
        t.judge.refused(`verifier_state number ${index}`, reply, invalid);
      }
      await verdictOf(t, session, 0, { submission });
    },
  ),
];

/** A copy of a submission, each agent's part changed. */
function changed(submission: Submission | undefined, change: (agent: AgentSubmission) => void): Submission {
  const copy = submission === undefined ? create(SubmissionSchema) : clone(SubmissionSchema, submission);
  for (const agent of copy.agents) change(agent);
  return copy;
}

function flipped(bytes: Uint8Array, at: number): Uint8Array {
  return bytes.map((byte, index) => (index === at ? byte ^ 0x10 : byte));
}
