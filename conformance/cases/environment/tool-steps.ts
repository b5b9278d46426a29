import { create } from "@bufbuild/protobuf";
import { ActionKind, ActionSchema, Feature } from "../../../gen/index.js";
import { environmentCheck, type OpenSession } from "./environment-trial.js";

/** Rewards are equal where they differ by no more than this. */
import { actionsOf, toolAction, unchanged } from "./step-work.js";

/** Steps that call tools: what is refused, what the agent reads, and that the listed tools are all there are. */
export const toolStepChecks = [
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
    { clause: "ENV-STEP-020", name: "declared", title: "STRICT_ARGUMENTS is declared." },
    async (t) => t.judge.equal("STRICT_ARGUMENTS is declared", t.has(Feature.STRICT_ARGUMENTS), true),
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
