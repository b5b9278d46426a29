import { Feature, type StepRecord, type WatchStepsResponse } from "../../../gen/index.js";
import type { CheckInit } from "../../check/check.js";
import type { Feed } from "../../subject/subject-client.js";
import type { EnvironmentTrial } from "./environment-trial.js";
import { firstActions, idle, idleActions, idlingCheck } from "./known-actions.js";
import { openFrames, stepped } from "./step-frames.js";

const check = (init: Omit<CheckInit, "features">, run: (t: EnvironmentTrial) => Promise<void>) =>
  idlingCheck({ features: [Feature.STEP, Feature.WATCH_STEPS], ...init }, run);

/** The next steps of a feed, heartbeats left out. A feed that gives no more is the watchdog's. */
async function recordsOf(
  t: EnvironmentTrial,
  feed: Feed<WatchStepsResponse>,
  count: number,
): Promise<StepRecord[]> {
  const records: StepRecord[] = [];
  while (records.length < count) {
    const next = await feed.next();
    t.judge.that(`step ${records.length} of the feed`, next !== undefined, {
      expected: "to come",
      actual: "the end of the feed",
    });
    if (next?.event.case === "step") records.push(next.event.value);
    t.judge.that("an event", next?.event.case !== "gap", { expected: "a step", actual: next });
  }
  return records;
}

/** WatchSteps: the ledger of steps as a controller follows it. */
export const watchStepsChecks = [
  check(
    {
      clause: "ENV-WTCH-001",
      name: "every-step",
      title: "the feed gives each step of the good script once, in order, equal to its answer.",
      stacks: ["connect-node", "grpc-js"],
    },
    async (t) => {
      const good = t.must(t.fixture.sample.good, "environment.sample.good");
      const session = await t.open();
      const answers = await session.play(good);
      const feed = t.calls.watchSteps({ sessionId: session.id });
      const records = await recordsOf(t, feed, answers.length);
      t.judge.each("the records", records, ({ response, actions }, index) => {
        t.judge.equal(`the response of record ${index}`, response, answers[index]);
        t.judge.equal(`the actions of record ${index}`, actions, good.steps[index]?.actions);
      });
      // The feed ends with the session: what else came stands before its end.
      t.judge.answer("Close", await session.close());
      const rest = (await feed.finish()).messages.filter(({ event }) => event.case === "step");
      t.judge.equal("steps in all", rest.length, answers.length);
    },
  ),
  check(
    {
      clause: "ENV-WTCH-002",
      name: "behind",
      title: "after_sequence k gives what came behind it, for the sequence of every step.",
    },
    async (t) => {
      const session = await t.open();
      const answers = await idle(t, session, { count: 4 });
      for (const [index, { sequence }] of answers.slice(0, -1).entries()) {
        const feed = t.calls.watchSteps({ sessionId: session.id, afterSequence: sequence });
        const records = await recordsOf(t, feed, answers.length - index - 1);
        t.judge.equal(
          `step_index of what came behind step ${index}`,
          records.map(({ response }) => response?.stepIndex),
          answers.slice(index + 1).map(({ stepIndex }) => stepIndex),
        );
        feed.cancel();
      }
    },
  ),
  check(
    {
      clause: "ENV-WTCH-003",
      name: "every-caller",
      title: "steps by number, by action_id, in a stream and by an agent's token are all in the feed.",
    },
    async (t) => {
      const session = await t.open();
      const actions = idleActions(t);
      const actionId = t.id("action");
      const token = session.descriptor.agents[0]?.token ?? "";
      const name = { case: "stepIndex" as const, value: 0 };
      const asAgent = token === "" ? {} : { headers: { authorization: `Bearer ${token}` } };
      const request = { sessionId: session.id, name, actions };
      t.judge.answer("step 0", await t.calls.step(request, asAgent));
      const named = { sessionId: session.id, name: { case: "actionId" as const, value: actionId }, actions };
      t.judge.answer("a step by action_id", await t.elsewhere().step(named));
      if (t.has(Feature.STEP_STREAM)) {
        const frames = openFrames(t, t.elsewhere());
        stepped(t, "step 2 in a stream", await frames.step(session.id, 2, actions));
        frames.cancel();
      } else t.judge.answer("step 2", await session.step(2, actions));
      const feed = t.calls.watchSteps({ sessionId: session.id });
      const records = await recordsOf(t, feed, 3);
      t.judge.equal(
        "step_index of the records",
        records.map(({ response }) => response?.stepIndex),
        [0, 1, 2],
      );
      t.judge.equal(
        "action_id of the records",
        records.map((record) => record.actionId),
        ["", actionId, ""],
      );
      feed.cancel();
    },
  ),
  check(
    {
      clause: "ENV-WTCH-004",
      name: "follows",
      title: "a feed that was opened first gives each step as it is taken.",
    },
    async (t) => {
      const session = await t.open();
      const feed = t.elsewhere().watchSteps({ sessionId: session.id });
      for (const [index, actions] of [firstActions(t), idleActions(t)].entries()) {
        const answer = t.judge.answer(`step ${index}`, await session.step(index, actions));
        const [record] = await recordsOf(t, feed, 1);
        t.judge.equal(`what the feed gave of step ${index}`, record?.response, answer);
      }
      feed.cancel();
    },
  ),
];
