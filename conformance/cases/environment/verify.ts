import { create } from "@bufbuild/protobuf";
import {
  AgentEndSchema,
  Determinism,
  FailureKind,
  Feature,
  ItemSchema,
  RewardAuthority,
  StopReason,
  SubmissionSchema,
  type Verdict,
  VerifyIsolation,
} from "../../../gen/index.js";
import { environmentCheck } from "./environment-trial.js";

import { changed, near, nothing, noWork, played, verdictOf, workOf } from "./verify-work.js";

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
];
