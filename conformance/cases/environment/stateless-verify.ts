import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  Determinism,
  EnvironmentService,
  Feature,
  type SampleWork,
  StepReward,
  type Submission,
  type SubmissionSchema,
  type VerifyResult,
} from "../../../gen/index.js";
import { type EnvironmentTrial, environmentCheck } from "./environment-trial.js";
import { verifyEnd } from "./operations/verify.js";

type SubmissionInit = MessageInitShape<typeof SubmissionSchema>;

const check = (
  init: Omit<Parameters<typeof environmentCheck>[0], "features">,
  run: (t: EnvironmentTrial) => Promise<void>,
) => environmentCheck({ features: [Feature.STATELESS_VERIFY], ...init }, run);

const goodOf = (t: EnvironmentTrial): SampleWork => t.must(t.fixture.sample.good, "environment.sample.good");

/** The submission of a piece of work with the steps that a session would have taken. */
function whole({ submission, steps }: SampleWork): SubmissionInit {
  return {
    agents: submission?.agents ?? [],
    steps: steps.map(({ actions }, stepIndex) => ({ stepIndex, actions })),
  };
}

/** A verification of the sample's task without a session, under a new name. */
function stateless(
  t: EnvironmentTrial,
  { submission, seed = t.fixture.seed }: { submission: SubmissionInit | undefined; seed?: bigint },
) {
  return {
    target: {
      case: "stateless" as const,
      value: {
        verificationId: t.id("verification"),
        context: t.context(),
        task: t.must(t.fixture.sample.task, "environment.sample.task"),
        seed,
      },
    },
    submission: submission ?? {},
  };
}

const verdictOf = ({ outcome }: VerifyResult): unknown =>
  outcome.case === "verdict"
    ? {
        reward: outcome.value.reward,
        agentRewards: outcome.value.agentRewards,
        success: outcome.value.success,
      }
    : { failure: outcome.value };

const rewardOf = ({ outcome }: VerifyResult): number | undefined =>
  outcome.case === "verdict" ? outcome.value.reward?.value : undefined;

/** Steps count in the verdict of the environment's tasks. */
function stepsCount(t: EnvironmentTrial): boolean {
  const declared = t.described.declarations?.reward?.stepReward ?? StepReward.UNSPECIFIED;
  return declared === StepReward.DELTA || declared === StepReward.CUMULATIVE;
}

/** Verify of a task without its session. */
export const statelessVerifyChecks = [
  check(
    {
      clause: "ENV-SLVR-001",
      name: "as-session",
      title: "by the task alone the good and the bad work get the verdicts that their sessions gave.",
      stacks: ["connect-node", "grpc-js"],
    },
    async (t) => {
      const { good, bad } = t.fixture.sample;
      for (const [what, work] of Object.entries({ good, bad })) {
        if (work === undefined) continue;
        const session = await t.open();
        if (t.has(Feature.STEP)) await session.play(work);
        const asked = await session.verify(0, { final: true, submission: work.submission });
        const wanted = t.result(`the verdict of the ${what} work`, asked);
        t.judge.answer("Close", await session.close());
        const request = stateless(t, {
          submission: whole(work),
          ...(session.descriptor.seed === undefined ? {} : { seed: session.descriptor.seed }),
        });
        const result = t.result(`the stateless one`, await t.calls.verify(request).finish());
        t.judge.equal(`the stateless verdict of the ${what} work`, verdictOf(result), verdictOf(wanted));
      }
    },
  ),
  check(
    {
      clause: "ENV-SLVR-002",
      name: "named",
      title: "by its verification_id it is joined, replayed, and refused other content.",
      sendsInvalid: true,
    },
    async (t) => {
      const request = stateless(t, { submission: whole(goodOf(t)) });
      const reads = await Promise.all(
        Array.from({ length: 4 }, () => t.elsewhere().verify(request).finish()),
      );
      const [first, ...others] = reads.map((reply, index) => t.result(`reading ${index}`, reply));
      t.judge.each("the readings at once", others, (other) =>
        t.judge.equal("what another reader got", other, first),
      );
      const later = t.result("a later repeat", await t.calls.verify(request).finish());
      t.judge.equal("the later repeat", later, first);
      const bad = t.must(t.fixture.sample.bad, "environment.sample.bad");
      const other = await t.calls.verify({ ...request, submission: whole(bad) }).finish();
      t.judge.refused("other content under the name", verifyEnd(other), {
        code: ["ALREADY_EXISTS"],
        reason: ["OPERATION_CONFLICT"],
      });
    },
  ),
  check(
    {
      clause: "ENV-SLVR-005",
      name: "steps-count",
      title: "steps handed in count: with the good ones the session's reward, without them another.",
    },
    async (t) => {
      if (!stepsCount(t)) t.notApplicable("no step of this environment has a reward");
      const good = goodOf(t);
      const session = await t.open();
      await session.play(good);
      const wanted = t.result(
        "Verify",
        await session.verify(0, { final: true, submission: good.submission }),
      );
      const alone: Submission | undefined = good.submission;
      const [withSteps, without] = [
        t.result("with steps", await t.calls.verify(stateless(t, { submission: whole(good) })).finish()),
        t.result("without", await t.calls.verify(stateless(t, { submission: alone })).finish()),
      ];
      t.judge.equal("the verdict with the steps", verdictOf(withSteps), verdictOf(wanted));
      const earned = good.steps.some(({ expectedRewards }) =>
        Object.values(expectedRewards).some(({ value }) => value !== 0),
      );
      if (earned) t.judge.differ("the reward without the steps", rewardOf(without), rewardOf(withSteps));
    },
  ),
  check(
    {
      clause: "ENV-SLVR-004",
      name: "another-process",
      title: "another process, which never saw the session, gives the good work the same verdict.",
      lane: "process",
      within: 60,
    },
    async (t) => {
      if (t.described.declarations?.determinism !== Determinism.SEEDED) {
        t.notApplicable("verdicts of this environment are not settled by a seed");
      }
      const request = stateless(t, { submission: whole(goodOf(t)) });
      const here = t.result("the stateless verdict", await t.calls.verify(request).finish());
      const calls = (await t.process().another()).client(EnvironmentService);
      const there = t.result("the one of another process", await calls.verify(request).finish());
      t.judge.equal("the verdict of the other process", verdictOf(there), verdictOf(here));
      t.judge.differ("its answer_id", there.answerId, here.answerId);
    },
  ),
];
