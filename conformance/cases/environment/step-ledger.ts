import { Feature } from "../../../gen/index.js";
import { idle, idleActions, idlingCheck } from "./known-actions.js";

/** Step answers that every server keeps. */
const kept = 64;
const features = [Feature.STEP];

/** R14: which answers of steps are kept, and what becomes of older ones. */
export const stepLedgerChecks = [
  idlingCheck(
    {
      clause: "ALL-KEEP-001",
      name: "newest-64",
      title: "after 100 steps the newest 64 replay, each with its own answer; Describe declares as many.",
      features,
      within: 30,
    },
    async (t) => {
      const declared = t.described.service?.retention?.stepAnswers ?? 0;
      t.judge.that("retention.step_answers", declared >= kept, {
        expected: `${kept} or more`,
        actual: declared,
      });
      const session = await t.open();
      const answers = await idle(t, session, { count: 100 });
      for (const [index, answer] of answers.entries()) {
        if (index < answers.length - kept) continue;
        const again = t.judge.answer(
          `the repeat of step ${index}`,
          await session.step(index, idleActions(t)),
        );
        t.judge.equal("its answer", again, answer);
      }
    },
  ),
  idlingCheck(
    {
      clause: "ALL-REPEAT-010",
      name: "forgotten",
      title: "after 200 steps the repeat of step 0 replays or is ANSWER_EXPIRED, and takes no step.",
      features,
      within: 30,
    },
    async (t) => {
      const session = await t.open();
      const [first] = await idle(t, session, { count: 200 });
      const again = await session.step(0, idleActions(t));
      if (again.message === undefined) t.judge.refused("the repeat", again);
      else t.judge.equal("the repeat", again.message, first);
      const next = t.judge.answer("step 200", await session.step(200, idleActions(t)));
      t.judge.equal("its step_index", next.stepIndex, 200);
      const receipt = t.judge.answer("Close", await session.close());
      t.judge.equal("steps in all", receipt.steps, 201);
    },
  ),
  idlingCheck(
    {
      clause: "ALL-EVT-006",
      name: "watch-steps",
      title:
        "WatchSteps from the start of 200 steps gives all of them, or `gap` and then what is left, to the newest.",
      features: [Feature.STEP, Feature.WATCH_STEPS],
      within: 30,
    },
    async (t) => {
      const session = await t.open();
      const answers = await idle(t, session, { count: 200 });
      const feed = t.elsewhere().watchSteps({ sessionId: session.id });
      const places: bigint[] = [];
      let gap = false;
      const newest = answers.at(-1)?.sequence ?? 0n;
      while (places.at(-1) !== newest) {
        const next = await feed.next();
        t.judge.that("the feed", next !== undefined, { expected: `to reach ${newest}`, actual: "its end" });
        if (next?.event.case === "gap") {
          t.judge.equal("steps before the gap", places.length, 0);
          gap = true;
        } else if (next?.event.case === "step") places.push(next.event.value.response?.sequence ?? 0n);
      }
      feed.cancel();
      const all = answers.map(({ sequence }) => sequence);
      t.judge.equal("the steps given", places, all.slice(all.length - places.length));
      t.judge.equal("a gap was told", gap, places.length < all.length);
    },
  ),
];
