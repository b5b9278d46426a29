import { clone, create } from "@bufbuild/protobuf";
import {
  type Action,
  ActionKind,
  ActionSchema,
  Feature,
  type SampleWork,
  StepRequestSchema,
  type StepResponse,
} from "../../../gen/index.js";
import { type EnvironmentTrial, environmentCheck, type OpenSession } from "./environment-trial.js";
import { idlingCheck } from "./known-actions.js";

/** Rewards are equal where they differ by no more than this. */
const closeEnough = 1e-9;
const ended = { code: ["FAILED_PRECONDITION"], reason: ["EPISODE_ENDED"] };
const conflict = { code: ["ALREADY_EXISTS"], reason: ["OPERATION_CONFLICT"] };

function goodOf(t: EnvironmentTrial): SampleWork {
  const { good } = t.fixture.sample;
  t.must(good?.steps[0], "environment.sample.good.steps");
  return t.must(good, "environment.sample.good");
}

/** The good work's first step, and one that is valid wherever it comes. */
function actionsOf(t: EnvironmentTrial): { first: Action[]; any: Action[] } {
  const first = goodOf(t).steps[0]?.actions ?? [];
  const any = t.must(t.fixture.sample.bad?.steps[0]?.actions, "environment.sample.bad.steps");
  return { first, any };
}

const byAction = (session: OpenSession, actionId: string, actions: readonly Action[]) => ({
  sessionId: session.id,
  name: { case: "actionId" as const, value: actionId },
  actions: [...actions],
});

/** An action of the fixture with something changed in its tool call. */
function toolAction(
  t: EnvironmentTrial,
  change: { name?: string; argumentsJson?: string; incomplete?: boolean },
): Action {
  const all = [...goodOf(t).steps, ...(t.fixture.sample.bad?.steps ?? [])].flatMap(({ actions }) => actions);
  const found = all.find(({ kind }) => kind.case === "toolCall");
  if (found?.kind.case !== "toolCall") return t.notApplicable("the sample has no tool calls");
  return create(ActionSchema, {
    agentId: found.agentId,
    kind: { case: "toolCall", value: { ...found.kind.value, ...change } },
  });
}

/** What a step did, apart from its answer_id. */
function effect(answer: StepResponse | undefined): unknown {
  if (answer === undefined) return undefined;
  const { stepIndex, outcomes, terminated, truncated, nextAgents } = answer;
  return { stepIndex, outcomes, terminated, truncated, nextAgents };
}

/** After something refused, the good first step does what it does in a session of its own. */
async function unchanged(t: EnvironmentTrial, session: OpenSession): Promise<void> {
  const { first } = actionsOf(t);
  const clean = t.judge.answer("step 0 of a clean session", await (await t.open()).step(0, first));
  const after = t.judge.answer("step 0 after the refusal", await session.step(0, first));
  t.judge.equal("what step 0 did after the refusal", effect(after), effect(clean));
}

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
      clause: "ENV-STEP-008",
      name: "undeclared-kind",
      title: "an action of a kind that is not declared is refused, and changes nothing.",
      sendsInvalid: true,
    },
    async (t) => {
      const declared = new Set(t.described.declarations?.actionKinds);
      const agentId = actionsOf(t).first[0]?.agentId ?? "agent";
      const action = !declared.has(ActionKind.ITEMS)
        ? create(ActionSchema, { agentId, kind: { case: "items", value: { items: [] } } })
        : !declared.has(ActionKind.CONTENT)
          ? create(ActionSchema, { agentId, kind: { case: "content", value: { blocks: [] } } })
          : undefined;
      if (action === undefined) t.notApplicable("the subject declares every kind of action");
      const session = await t.open();
      t.judge.refused("an undeclared kind", await session.step(0, action === undefined ? [] : [action]), {
        code: ["INVALID_ARGUMENT"],
        reason: ["INVALID_FIELD"],
      });
      await unchanged(t, session);
    },
  ),
  environmentCheck(
    {
      clause: "ENV-STEP-009",
      name: "unknown-tool",
      title: "a call of a tool that is not there is refused UNKNOWN_TOOL, and changes nothing.",
      sendsInvalid: true,
      stacks: ["connect-node", "grpc-js"],
    },
    async (t) => {
      const action = toolAction(t, { name: "no_such_tool" });
      const session = await t.open();
      t.judge.refused("an unknown tool", await session.step(0, [action]));
      await unchanged(t, session);
    },
  ),
  environmentCheck(
    {
      clause: "ENV-STEP-010",
      name: "no-json-object",
      title: "arguments that are no JSON object are refused, and change nothing.",
      sendsInvalid: true,
    },
    async (t) => {
      const session = await t.open();
      for (const argumentsJson of ["{", "[1]", '"a"', "null", ""]) {
        const action = toolAction(t, { argumentsJson });
        t.judge.refused(`arguments ${JSON.stringify(argumentsJson)}`, await session.step(0, [action]));
      }
      await unchanged(t, session);
    },
  ),
  environmentCheck(
    {
      clause: "ENV-STEP-011",
      name: "off-schema",
      title: "arguments off the tool's schema are refused naming the argument, and change nothing.",
      sendsInvalid: true,
    },
    async (t) => {
      const { action, argument } = t.must(t.fixture.off_schema, "environment.off_schema");
      const session = await t.open();
      const status = t.judge.refused("arguments off the schema", await session.step(0, [action]));
      const told = [...status.fields, ...status.descriptions, status.message].join(" ");
      t.judge.that("what the refusal names", told.includes(argument), {
        expected: `the argument ${argument}`,
        actual: told,
      });
      await unchanged(t, session);
    },
  ),
  environmentCheck(
    {
      clause: "ENV-STEP-023",
      name: "off-schema-judged",
      title: "without STRICT_ARGUMENTS arguments off the schema are answered or refused, never INTERNAL.",
    },
    async (t) => {
      if (t.has(Feature.STRICT_ARGUMENTS)) t.notApplicable("the subject declares STRICT_ARGUMENTS");
      const { action } = t.must(t.fixture.off_schema, "environment.off_schema");
      const { status } = await (await t.open()).step(0, [action]);
      t.judge.that("how it ended", status === undefined || status.code === "INVALID_ARGUMENT", {
        expected: "OK or INVALID_ARGUMENT",
        actual: status?.code,
      });
    },
  ),
  environmentCheck(
    {
      clause: "ENV-STEP-013",
      name: "tool-error",
      title: "a tool that ran and failed is an observation with is_error, and the session goes on.",
    },
    async (t) => {
      const { action } = t.may(t.fixture.tool_error, "environment.tool_error");
      const session = await t.open();
      const answer = t.judge.answer("the failing call", await session.step(0, [action]));
      const results = answer.outcomes
        .flatMap(({ observation }) => observation?.items ?? [])
        .flatMap(({ kind }) => (kind.case === "toolResult" ? [kind.value] : []));
      t.judge.each("its tool results", results, ({ isError }) => t.judge.equal("is_error", isError, true));
      t.judge.answer("the next step", await session.step(1, actionsOf(t).any));
    },
  ),
  environmentCheck(
    {
      clause: "ENV-STEP-014",
      name: "incomplete-call",
      title: "a tool call marked incomplete is refused, and never run.",
      sendsInvalid: true,
    },
    async (t) => {
      const session = await t.open();
      const action = toolAction(t, { incomplete: true });
      t.judge.refused("an incomplete call", await session.step(0, [action]));
      await unchanged(t, session);
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
    { clause: "ENV-STEP-020", name: "declared", title: "STRICT_ARGUMENTS is declared." },
    async (t) => t.judge.equal("STRICT_ARGUMENTS is declared", t.has(Feature.STRICT_ARGUMENTS), true),
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

/** TOOLS. */
export const toolChecks = [
  environmentCheck(
    {
      clause: "ENV-TOOL-001",
      name: "equals-descriptor",
      title: "ListTools gives each agent the tools that its descriptor told.",
    },
    async (t) => {
      const session = await t.open();
      t.judge.each("agents", session.descriptor.agents, ({ agentId }) =>
        t.judge.differ("agent_id", agentId, ""),
      );
      for (const { agentId, tools } of session.descriptor.agents) {
        const listed = await t.calls.listTools({ sessionId: session.id, agentId });
        t.judge.equal(`tools of ${agentId}`, t.judge.answer("ListTools", listed).tools, tools);
      }
    },
  ),
  environmentCheck(
    {
      clause: "ENV-TOOL-002",
      name: "is-a-read",
      title: "ListTools between steps changes no state and uses no number.",
    },
    async (t) => {
      const session = await t.open();
      const agentId = session.descriptor.agents[0]?.agentId ?? "agent";
      t.judge.answer("ListTools", await t.calls.listTools({ sessionId: session.id, agentId }));
      await unchanged(t, session);
      t.judge.answer("ListTools", await t.calls.listTools({ sessionId: session.id, agentId }));
      t.judge.answer("step 1", await session.step(1, actionsOf(t).any));
    },
  ),
  environmentCheck(
    {
      clause: "ENV-SEED-012",
      name: "list-is-complete",
      title: "a tool that the descriptor does not list is refused.",
      features: [Feature.STEP],
      sendsInvalid: true,
    },
    async (t) => {
      const session = await t.open();
      const [agent] = session.descriptor.agents;
      const names = new Set(agent?.tools.map(({ name }) => name));
      const action = toolAction(t, { name: `${[...names][0] ?? "tool"}_not` });
      const unknown = { code: ["INVALID_ARGUMENT"], reason: ["UNKNOWN_TOOL"] };
      t.judge.refused("a tool that is not listed", await session.step(0, [action]), unknown);
      await unchanged(t, session);
    },
  ),
  environmentCheck(
    {
      clause: "ENV-SEED-012",
      name: "list-of-this-task",
      title: "a tool that another task lists, and this one does not, is refused here.",
      features: [Feature.STEP],
      sendsInvalid: true,
    },
    async (t) => {
      const other = t.may(t.fixture.other_task, "environment.other_task");
      const here = await t.open();
      const there = await t.open({ source: { case: "task", value: other } });
      const namesOf = ({ descriptor }: OpenSession) =>
        new Set(descriptor.agents.flatMap(({ tools }) => tools.map(({ name }) => name)));
      const pairs = [
        { session: here, own: namesOf(here), others: namesOf(there) },
        { session: there, own: namesOf(there), others: namesOf(here) },
      ].flatMap(({ session, own, others }) =>
        [...others].filter((name) => !own.has(name)).map((name) => ({ session, name })),
      );
      if (pairs.length === 0) return t.notApplicable("both tasks have the same tools");
      const unknown = { code: ["INVALID_ARGUMENT"], reason: ["UNKNOWN_TOOL"] };
      for (const { session, name } of pairs) {
        const agentId = session.descriptor.nextAgents[0] ?? "agent";
        const action = { ...toolAction(t, { name }), agentId };
        t.judge.refused(`${name}, a tool of the other task`, await session.step(0, [action]), unknown);
      }
    },
  ),
];
