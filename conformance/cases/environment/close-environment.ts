import { Feature } from "../../../gen/index.js";
import { duration, milliseconds } from "../shared/durations.js";
import { environmentCheck } from "./environment-trial.js";
import { idle, idleActions, idlingCheck } from "./known-actions.js";
import { openFrames, stepped } from "./step-frames.js";

const shortLeaseMs = 1_000;

/** R5 and R6 where a world has to be told what to do, or what it did is counted. */
export const closeEnvironmentChecks = [
  environmentCheck(
    {
      clause: "ALL-CLOSE-013",
      name: "left",
      title: "what could not be released is told: cleanup_confirmed is false, and left names it.",
    },
    async (t) => {
      const fault = t.may(t.fixture.release_fault, "environment.release_fault");
      const session = await t.open({ source: { case: "task", value: fault.task } });
      const { receipt } = t.judge.answer("Close", await session.close());
      t.judge.equal("cleanup_confirmed", receipt?.cleanupConfirmed, false);
      t.judge.each("left", receipt?.left ?? [], ({ kind, failure }) => {
        t.judge.that("kind", kind !== "", { expected: "to be set", actual: kind });
        if (fault.kind !== "") t.judge.equal("kind", kind, fault.kind);
        t.judge.that("failure", failure !== undefined, { expected: "to be set", actual: "nothing" });
      });
      const sound = await t.open();
      const other = t.judge.answer("Close of another session", await sound.close());
      t.judge.equal("cleanup_confirmed of it", other.receipt?.cleanupConfirmed, true);
      t.judge.equal("left of it", other.receipt?.left, []);
    },
  ),
  environmentCheck(
    {
      clause: "ALL-CLOSE-017",
      name: "tries-again",
      title: "a further Close of what could not be released tries again, and then confirms.",
    },
    async (t) => {
      const fault = t.may(t.fixture.release_fault, "environment.release_fault");
      const session = await t.open({ source: { case: "task", value: fault.task } });
      const first = t.judge.answer("the first Close", await session.close());
      const second = t.judge.answer("the second Close", await session.close());
      t.judge.equal("cleanup_confirmed of the first", first.receipt?.cleanupConfirmed, false);
      t.judge.equal("cleanup_confirmed of the second", second.receipt?.cleanupConfirmed, true);
      t.judge.equal("left of the second", second.receipt?.left, []);
      const third = t.judge.answer("the third Close", await session.close());
      t.judge.equal("cleanup_confirmed of the third", third.receipt?.cleanupConfirmed, true);
    },
  ),
  environmentCheck(
    {
      clause: "ALL-CLOSE-014",
      name: "hangs",
      title: "Close of a session whose work does not hear of its end answers all the same, unconfirmed.",
      lane: "waiting",
      within: 60,
    },
    async (t) => {
      const stubborn = t.may(t.fixture.stubborn?.submission, "environment.stubborn.submission");
      const session = await t.open();
      const running = t.elsewhere().verify(session.verifyRequest(0, { submission: stubborn }));
      await running.next();
      const { receipt } = t.judge.answer("Close", await session.close());
      t.judge.equal("cleanup_confirmed", receipt?.cleanupConfirmed, false);
      t.judge.that("left", (receipt?.left.length ?? 0) > 0, {
        expected: "what still runs",
        actual: "nothing",
      });
      running.cancel();
    },
  ),
  environmentCheck(
    {
      clause: "ALL-CLOSE-018",
      name: "verifications",
      title: "the receipt counts two verifications, and names the task by its digest.",
    },
    async (t) => {
      const session = await t.open();
      for (const index of [0, 1]) {
        const { submission } = t.must(t.fixture.sample.bad, "environment.sample.bad");
        t.result(`Verify ${index}`, await session.verify(index, { submission }));
      }
      const receipt = t.judge.answer("Close", await session.close());
      t.judge.equal("verifications", receipt.verifications, 2);
      t.judge.equal("steps", receipt.steps, 0);
      t.judge.equal("task_digest", receipt.taskDigest, session.descriptor.task?.digest);
    },
  ),
  idlingCheck(
    {
      clause: "ALL-CLOSE-018",
      name: "steps",
      title: "the receipt counts three steps, a repeat and a refused one not among them.",
      features: [Feature.STEP],
      sendsInvalid: true,
    },
    async (t) => {
      const session = await t.open();
      await idle(t, session, { count: 3 });
      t.judge.answer("a repeat", await session.step(2, idleActions(t)));
      const gap = { code: ["FAILED_PRECONDITION"], reason: ["OUT_OF_ORDER"] };
      t.judge.refused("a step too far", await session.step(9, idleActions(t)), gap);
      const receipt = t.judge.answer("Close", await session.close());
      t.judge.equal("steps", receipt.steps, 3);
      t.judge.equal("verifications", receipt.verifications, 0);
    },
  ),
  idlingCheck(
    {
      clause: "ALL-LEASE-012",
      name: "idle-stream",
      title: "an open StepStream without steps does not keep its session alive, nor does WatchSteps.",
      features: [Feature.STEP, Feature.STEP_STREAM],
      lane: "waiting",
      within: 60,
    },
    async (t) => {
      const [streamed, watched] = [
        await t.open({ lease: duration(shortLeaseMs) }),
        await t.open({ lease: duration(shortLeaseMs) }),
      ];
      const lease = milliseconds(streamed.descriptor.lease?.duration) ?? shortLeaseMs;
      const frames = openFrames(t, t.elsewhere());
      stepped(t, "step 0", await frames.step(streamed.id, 0, idleActions(t)));
      const feed = t.has(Feature.WATCH_STEPS)
        ? t.elsewhere().watchSteps({ sessionId: watched.id })
        : undefined;
      const reading = feed?.next();
      await t.pause(lease + 1_500);
      for (const { id } of [streamed, watched]) {
        const { status } = await t.calls.keepAlive({ sessionId: id });
        t.judge.equal(`the reason of KeepAlive of ${id}`, status?.reason, "SESSION_EXPIRED");
      }
      frames.cancel();
      feed?.cancel();
      await reading;
    },
  ),
  environmentCheck(
    {
      clause: "ALL-ALIVE-002",
      name: "heartbeats-verify",
      title: "in a Verify of 35 s never more than 15 s pass without an event.",
      lane: "waiting",
      within: 90,
      slow: true,
    },
    async (t) => {
      const submission = t.may(t.fixture.hang?.submission, "environment.hang.submission");
      const session = await t.open();
      const feed = t.calls.verify(session.verifyRequest(0, { submission, timeoutMs: 35_000 }));
      for (let more = true; more; ) {
        const event = await t.within("the next event", 15, feed.next());
        more = event !== undefined && event.event.case !== "result";
      }
      t.judge.that("the last event", (await feed.finish()).messages.at(-1)?.event.case === "result", {
        expected: "the result",
        actual: "another",
      });
    },
  ),
];
