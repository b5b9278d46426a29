import { FailureKind, Feature, Retry, VerifyIsolation } from "../../../gen/index.js";
import { environmentCheck, type OpenSession } from "./environment-trial.js";

import { ended } from "./step-work.js";
import { flipped, played, verdictOf, workOf } from "./verify-work.js";

/** What a final verification ends, what may follow it, and the state that lets another instance verify. */
export const finalVerifyChecks = [
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
