import { clone, create } from "@bufbuild/protobuf";
import { ActionSchema, Feature, StepRequestSchema, type StepResponse } from "../../../gen/index.js";
import { environmentCheck, type OpenSession } from "./environment-trial.js";
import { idlingCheck } from "./known-actions.js";

/** Rewards are equal where they differ by no more than this. */
import { actionsOf, byAction, closeEnough, conflict, ended, goodOf, unchanged } from "./step-work.js";

/** STEP. */
export const stepChecks = [
  environmentCheck(
    {
      clause: "ENV-STEP-001",
      name: "answered",
      title: "each step of the good work is answered with an observation and its index.",
      stacks: ["connect-node", "grpc-js"],
    },
    async (t) => {
      const answers = await (await t.open()).play(goodOf(t));
      t.judge.each("the steps", answers, (answer, index) => {
        t.judge.equal(`step_index of step ${index}`, answer.stepIndex, index);
        t.judge.each(`outcomes of step ${index}`, answer.outcomes, ({ observation }) =>
          t.judge.that("its observation", observation !== undefined, {
            expected: "to be there",
            actual: "nothing",
          }),
        );
      });
    },
  ),
  environmentCheck(
    {
      clause: "ENV-STEP-002",
      name: "expected-rewards",
      title: "the good and the bad work's steps give the expected rewards.",
    },
    async (t) => {
      for (const work of [goodOf(t), t.must(t.fixture.sample.bad, "environment.sample.bad")]) {
        const answers = await (await t.open()).play(work);
        for (const [index, { expectedRewards }] of work.steps.entries()) {
          for (const [agentId, expected] of Object.entries(expectedRewards)) {
            const outcome = answers[index]?.outcomes.find((one) => one.agentId === agentId);
            const value = outcome?.reward?.value;
            t.judge.that(
              `the reward of ${agentId} at step ${index}`,
              value !== undefined && Math.abs(value - expected.value) <= closeEnough,
              { expected: String(expected.value), actual: value ?? "no reward" },
            );
          }
        }
      }
      if (t.judge.judged === 0) t.must(undefined, "environment.sample.good.steps[].expectedRewards");
    },
  ),
  environmentCheck(
    {
      clause: "ENV-STEP-005",
      name: "ends-apart",
      title: "work that ends by the world's rules is terminated and not truncated.",
    },
    async (t) => {
      const actions = t.must(t.fixture.endings?.terminated, "environment.endings.terminated");
      const session = await t.open();
      let last: StepResponse | undefined;
      for (const [index, action] of actions.entries()) {
        last = t.judge.answer(`step ${index}`, await session.step(index, [action]));
      }
      t.judge.equal("terminated and truncated", [last?.terminated, last?.truncated], [true, false]);
    },
  ),
  environmentCheck(
    {
      clause: "ENV-STEP-005",
      name: "cut-apart",
      title: "work that is cut by a limit is truncated and not terminated.",
    },
    async (t) => {
      const actions = t.may(t.fixture.endings?.truncated, "environment.endings.truncated");
      const session = await t.open();
      let last: StepResponse | undefined;
      for (const [index, action] of actions.entries()) {
        last = t.judge.answer(`step ${index}`, await session.step(index, [action]));
      }
      t.judge.equal("terminated and truncated", [last?.terminated, last?.truncated], [false, true]);
    },
  ),
  environmentCheck(
    {
      clause: "ENV-STEP-006",
      name: "after-the-end",
      title: "a step after the end is refused EPISODE_ENDED.",
      sendsInvalid: true,
    },
    async (t) => {
      const actions = t.must(t.fixture.endings?.terminated, "environment.endings.terminated");
      const session = await t.open();
      for (const [index, action] of actions.entries()) {
        t.judge.answer(`step ${index}`, await session.step(index, [action]));
      }
      t.judge.refused("a step after the end", await session.step(actions.length, actionsOf(t).any), ended);
    },
  ),
  environmentCheck(
    {
      clause: "ENV-STEP-007",
      name: "end-replays",
      title: "the ending step still replays after a refused one.",
    },
    async (t) => {
      const actions = t.must(t.fixture.endings?.terminated, "environment.endings.terminated");
      const session = await t.open();
      let last: StepResponse | undefined;
      for (const [index, action] of actions.entries()) {
        last = t.judge.answer(`step ${index}`, await session.step(index, [action]));
      }
      await session.step(actions.length, actionsOf(t).any);
      const final = actions.slice(-1);
      const again = await session.step(actions.length - 1, final);
      t.judge.equal("the repeat of the ending step", t.judge.answer("the repeat", again), last);
    },
  ),
  environmentCheck(
    {
      clause: "ENV-STEP-016",
      name: "unnamed",
      title: "a step with neither step_index nor action_id is refused, and changes nothing.",
      sendsInvalid: true,
    },
    async (t) => {
      const session = await t.open();
      const unnamed = create(StepRequestSchema, { sessionId: session.id, actions: actionsOf(t).first });
      t.judge.refused("a step without a name", await t.calls.step(unnamed));
      await unchanged(t, session);
    },
  ),
  idlingCheck(
    {
      clause: "ENV-STEP-017",
      name: "by-action-id",
      title: "three steps by action_id are numbered 0, 1, 2 by the server.",
    },
    async (t) => {
      const session = await t.open();
      const { any } = actionsOf(t);
      const indexes: number[] = [];
      for (const actionId of [t.id("a"), t.id("b"), t.id("c")]) {
        const answer = t.judge.answer(actionId, await t.calls.step(byAction(session, actionId, any)));
        indexes.push(answer.stepIndex);
      }
      t.judge.equal("their numbers", indexes, [0, 1, 2]);
    },
  ),
  environmentCheck(
    {
      clause: "ENV-STEP-018",
      name: "action-id-is-a-name",
      title:
        "an action_id replays, and with other content conflicts; its number under the other name does too.",
      sendsInvalid: true,
    },
    async (t) => {
      const session = await t.open();
      const { first, any } = actionsOf(t);
      const actionId = t.id("a");
      const answer = t.judge.answer("the step", await t.calls.step(byAction(session, actionId, first)));
      const again = await t.elsewhere().step(byAction(session, actionId, first));
      t.judge.equal("its repeat", t.judge.answer("its repeat", again), answer);
      t.judge.refused("other content", await t.calls.step(byAction(session, actionId, any)), conflict);
      t.judge.refused("its number as step_index", await session.step(answer.stepIndex, first), conflict);
    },
  ),
  idlingCheck(
    {
      clause: "ENV-STEP-019",
      name: "action-ids-at-once",
      title: "ten action_ids at once run once each, and get 0 to 9.",
    },
    async (t) => {
      const session = await t.open();
      const { any } = actionsOf(t);
      const ids = Array.from({ length: 10 }, (_, index) => t.id(`p${index}`));
      const replies = await Promise.all(ids.map((id) => t.calls.step(byAction(session, id, any))));
      if (replies.some(({ status }) => status?.reason === "SESSION_BUSY")) {
        // The contract lets a server turn away what comes while another runs; then they are asked again.
        for (const [index, id] of ids.entries()) {
          if (replies[index]?.status !== undefined)
            replies[index] = await t.calls.step(byAction(session, id, any));
        }
      }
      const numbers = replies.map((reply) => t.judge.answer("a step", reply).stepIndex).sort((a, b) => a - b);
      t.judge.equal("their numbers", numbers, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    },
  ),
  environmentCheck(
    {
      clause: "ENV-STEP-021",
      name: "outcomes-named",
      title: "each outcome names its agent; without MULTI_AGENT there is one, `agent`.",
    },
    async (t) => {
      const answers = await (await t.open()).play(goodOf(t));
      t.judge.each("the steps", answers, ({ outcomes }, index) => {
        const names = outcomes.map(({ agentId }) => agentId);
        if (t.has(Feature.MULTI_AGENT)) {
          t.judge.that(`outcomes of step ${index}`, !names.includes(""), {
            expected: "all named",
            actual: names,
          });
        } else t.judge.equal(`outcomes of step ${index}`, names, ["agent"]);
      });
    },
  ),
  environmentCheck(
    {
      clause: "ENV-STEP-022",
      name: "agent-of-nobody",
      title: "an action of an agent that is not of the session is refused by name, and changes nothing.",
      sendsInvalid: true,
    },
    async (t) => {
      const session = await t.open();
      const [action] = actionsOf(t).first;
      const foreign = clone(ActionSchema, t.must(action, "environment.sample.good.steps[0].actions"));
      foreign.agentId = "nobody";
      const status = t.judge.refused("an action of nobody", await session.step(0, [foreign]));
      t.judge.names("BadRequest", status, "actions[0].agent_id");
      await unchanged(t, session);
    },
  ),
  idlingCheck(
    {
      clause: "ENV-STEP-024",
      name: "sequence-rises",
      title: "the sequence of steps rises.",
    },
    async (t) => {
      const session = await t.open();
      const { any } = actionsOf(t);
      let before = 0n;
      for (let index = 0; index < 3; index += 1) {
        const { sequence } = t.judge.answer(`step ${index}`, await session.step(index, any));
        t.judge.that(`sequence of step ${index}`, sequence > before, {
          expected: `above ${before}`,
          actual: sequence,
        });
        before = sequence;
      }
    },
  ),
  environmentCheck(
    {
      clause: "ALL-REFUSE-003",
      name: "refused-action",
      title: "a refused action costs no reward: rewards and verdict are those of a clean run.",
      sendsInvalid: true,
    },
    async (t) => {
      const invalid = t.must(t.fixture.invalid?.action, "environment.invalid.action");
      const work = goodOf(t);
      const verdictOf = async (session: OpenSession): Promise<unknown> => {
        const steps = await session.play(work);
        const { outcome } = t.result(
          "Verify",
          await session.verify(0, { final: true, submission: work.submission }),
        );
        const rewards = steps.map(({ outcomes }) => outcomes.map(({ reward }) => reward?.value));
        return { rewards, reward: outcome.case === "verdict" ? outcome.value.reward : outcome };
      };
      const clean = await verdictOf(await t.open());
      const session = await t.open();
      const badInput = { code: ["INVALID_ARGUMENT"], reason: [] };
      t.judge.refused("a bad action", await session.step(0, [invalid]), badInput);
      t.judge.equal("rewards and verdict after it", await verdictOf(session), clean);
    },
  ),
];
