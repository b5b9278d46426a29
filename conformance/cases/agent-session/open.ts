import { AgentSessionService, ModelDialect, Retry } from "../../../gen/index.js";
import { textOfItems } from "../shared/item-text.js";
import { agentCheck } from "./agent-trial.js";

/** Nothing listens there: the discard port of a machine that serves none. */
const closedPort = "http://127.0.0.1:9";

/** Describe and Open. */
export const openChecks = [
  agentCheck(
    {
      clause: "AGT-DESC-001",
      name: "declared",
      title: "harness and model dialects are declared.",
      stacks: ["connect-node", "grpc-js"],
    },
    async (t) => {
      const { harness } = t.judge.answer(
        "Describe",
        await t.connect().client(AgentSessionService).describe({}),
      );
      t.judge.differ("harness.name", harness?.name ?? "", "");
      t.judge.differ("harness.version", harness?.version ?? "", "");
      t.judge.that(
        "dialects",
        t.described.modelDialects.every((one) => one !== ModelDialect.UNSPECIFIED),
        {
          expected: "none of them UNSPECIFIED",
          actual: t.described.modelDialects,
        },
      );
    },
  ),
  agentCheck(
    { clause: "AGT-OPEN-001", name: "budget-echoed", title: "Open echoes the budget as enforced." },
    async (t) => {
      await using peers = await t.peers();
      const { answer } = await t.open(peers, { budget: { maxTurns: 3 } });
      const greatest = t.described.maxBudget?.maxTurns ?? 3;
      t.judge.equal("budget.max_turns", answer.budget?.maxTurns, Math.min(3, greatest));
    },
  ),
  agentCheck(
    {
      clause: "AGT-OPEN-002",
      name: "required-access",
      title: "a required tool access that cannot be used fails Open, or the first activation that needs it.",
    },
    async (t) => {
      await using peers = await t.peers();
      const request = t.openRequest(peers);
      const [access] = request.toolAccesses;
      if (access?.way.case === "step" && access.way.value.endpoint !== undefined) {
        access.way.value.endpoint.url = closedPort;
      }
      const reply = await t.calls.open(request);
      t.judge.failed("Open with a dead required access", reply);
    },
  ),
  agentCheck(
    {
      clause: "AGT-OPEN-003",
      name: "optional-access",
      title: "an optional tool access that cannot be used is skipped and told.",
    },
    async (t) => {
      await using peers = await t.peers();
      const request = t.openRequest(peers);
      const [access] = request.toolAccesses;
      if (access?.way.case === "step" && access.way.value.endpoint !== undefined) {
        access.required = false;
        access.way.value.endpoint.url = closedPort;
      }
      const { skipped } = t.judge.answer("Open", await t.calls.open(request));
      t.judge.equal(
        "skipped accesses",
        skipped.map(({ name }) => name),
        ["step"],
      );
    },
  ),
  agentCheck(
    {
      clause: "AGT-OPEN-006",
      name: "model-down",
      title: "a model that cannot be reached fails Open or the first activation, retry NEW_ATTEMPT.",
    },
    async (t) => {
      await using peers = await t.peers();
      const request = t.openRequest(peers);
      for (const access of request.modelAccesses) access.baseUrl = closedPort;
      const opened = await t.calls.open(request);
      const failure =
        opened.status === undefined
          ? (await t.activate(request.sessionId)).failure
          : t.judge.failed("Open", opened);
      t.judge.that("the failure", failure !== undefined, {
        expected: "a recorded failure",
        actual: "completed",
      });
      t.judge.equal("its retry", failure?.retry, Retry.NEW_ATTEMPT);
    },
  ),
  agentCheck(
    {
      clause: "AGT-OPEN-007",
      name: "order-of-input",
      title: "instructions, history and input reach the model, in that order.",
    },
    async (t) => {
      await using peers = await t.peers();
      const words = ["instr-7", "hist-7", "input-7"];
      const { id } = await t.open(peers, { instructions: words[0] ?? "", history: [t.said(words[1] ?? "")] });
      await t.activate(id, { input: [t.said(words[2] ?? "")] });
      const [asked] = peers.model.asked;
      const text = textOfItems(asked?.prompt?.items ?? []);
      const places = words.map((word) => text.indexOf(word));
      t.judge.that(
        "the first prompt",
        places.every((at) => at >= 0),
        { expected: words.join(", "), actual: text },
      );
      t.judge.equal(
        "their order",
        [...places].sort((a, b) => a - b),
        places,
      );
    },
  ),
  agentCheck(
    {
      clause: "AGT-OPEN-008",
      name: "agent-id",
      title: "the items that a session makes carry its agent_id.",
    },
    async (t) => {
      await using peers = await t.peers();
      const { id } = await t.open(peers, { agentId: "b" });
      const { events } = await t.activate(id);
      const items = events.flatMap(({ event }) => (event.case === "item" ? [event.value] : []));
      t.judge.each("the items", items, ({ agentId }) => t.judge.equal("agent_id", agentId, "b"));
    },
  ),
  agentCheck(
    {
      clause: "AGT-OPEN-009",
      name: "no-common-dialect",
      title: "where no model access fits a declared dialect Open is refused.",
      sendsInvalid: true,
    },
    async (t) => {
      await using peers = await t.peers();
      const all = [
        ModelDialect.OPENAI_RESPONSES,
        ModelDialect.OPENAI_CHAT_COMPLETIONS,
        ModelDialect.ANTHROPIC_MESSAGES,
      ];
      const foreign = all.find((dialect) => !t.described.modelDialects.includes(dialect));
      if (foreign === undefined) t.notApplicable("it declares every dialect");
      const request = t.openRequest(peers);
      const dialect = foreign ?? ModelDialect.UNSPECIFIED;
      for (const access of request.modelAccesses) access.dialect = dialect;
      t.judge.refused("Open without a dialect in common", await t.calls.open(request));
      await t.open(peers);
    },
  ),
];
