import { Code, ConnectError } from "@connectrpc/connect";
import { EnvironmentService, FailureKind, Feature, FinishReason, StopReason } from "../../../gen/index.js";
import { calls, says } from "../../peers/scripted-model.js";
import { refusal, results } from "../../peers/scripted-tools.js";
import { duration } from "../shared/durations.js";
import { textOfItems } from "../shared/item-text.js";
import { type ActivationEnd, type AgentTrial, agentCheck } from "./agent-trial.js";

const look = (callId: string, at = "here") => ({
  callId,
  name: "look",
  argumentsJson: JSON.stringify({ at }),
});
/** Longer than any activation here may take; an agent that is still there has hung. */
const quietMs = 300;

function stopped(t: AgentTrial, what: string, end: ActivationEnd, stop: StopReason): void {
  t.judge.that(what, end.completed !== undefined, {
    expected: "completed",
    actual: end.failure ?? end.status ?? "no terminal event",
  });
  t.judge.equal(`${what}: stop_reason`, StopReason[end.completed?.stopReason ?? 0], StopReason[stop]);
}

function failed(t: AgentTrial, what: string, { failure, completed }: ActivationEnd): void {
  t.judge.that(what, failure !== undefined, {
    expected: "a recorded failure",
    actual: completed === undefined ? "nothing" : `completed ${StopReason[completed.stopReason]}`,
  });
}

/** Activate. */
export const activateChecks = [
  agentCheck(
    {
      clause: "AGT-ACT-006",
      name: "each-call-once",
      title:
        "every tool call of the model reaches the environment once, as written, and its result the model.",
    },
    async (t) => {
      await using peers = await t.peers(
        [calls([look("c1", "a"), look("c2", "b")]), says("done")],
        results("seen-7"),
      );
      const { id } = await t.open(peers);
      stopped(t, "the activation", await t.activate(id), StopReason.DONE);
      const came = peers.tools.steps
        .flatMap(({ actions }) => actions)
        .flatMap(({ kind }) => (kind.case === "toolCall" ? [kind.value] : []));
      t.judge.equal(
        "calls at the environment",
        came.map(({ callId, argumentsJson }) => [callId, argumentsJson]).sort(),
        [look("c1", "a"), look("c2", "b")].map(({ callId, argumentsJson }) => [callId, argumentsJson]),
      );
      const told = (peers.model.asked[1]?.prompt?.items ?? []).flatMap(({ kind }) =>
        kind.case === "toolResult" ? [kind.value.callId] : [],
      );
      t.judge.equal("results at the model", told.sort(), ["c1", "c2"]);
    },
  ),
  agentCheck(
    {
      clause: "AGT-ACT-007",
      name: "tool-error",
      title: "a tool's error, and a refused call, go to the model as error results; the turn goes on.",
    },
    async (t) => {
      const isError = results("broken", { isError: true });
      const refused = () => refusal(Code.InvalidArgument, "INVALID_FIELD");
      for (const stepping of [isError, refused]) {
        await using peers = await t.peers([calls([look("c1")]), says("done")], stepping);
        const { id } = await t.open(peers);
        stopped(t, "the activation", await t.activate(id), StopReason.DONE);
        const told = (peers.model.asked[1]?.prompt?.items ?? []).flatMap(({ kind }) =>
          kind.case === "toolResult" ? [kind.value] : [],
        );
        t.judge.each("results at the model", told, (result) =>
          t.judge.equal("is_error", result.isError, true),
        );
      }
    },
  ),
  agentCheck(
    {
      clause: "AGT-ACT-008",
      name: "max-turns",
      title: "turns spent are completed MAX_TURNS, after exactly that many model calls.",
    },
    async (t) => {
      await using peers = await t.peers([calls([look("c1")]), calls([look("c2")]), calls([look("c3")])]);
      const { id } = await t.open(peers);
      stopped(t, "the activation", await t.activate(id, { budget: { maxTurns: 2 } }), StopReason.MAX_TURNS);
      t.judge.equal("model calls", peers.model.asked.length, 2);
    },
  ),
  agentCheck(
    {
      clause: "AGT-ACT-009",
      name: "cut-call",
      title: "a tool call cut by the length limit is never run.",
    },
    async (t) => {
      const cut = calls([{ ...look("c1"), argumentsJson: '{"at":"he', incomplete: true }], {
        finish: FinishReason.LENGTH,
      });
      await using peers = await t.peers([cut, says("done")]);
      const { id } = await t.open(peers);
      const end = await t.activate(id);
      t.judge.equal("steps at the environment", peers.tools.steps.length, 0);
      t.judge.that("the activation", end.completed !== undefined || end.failure !== undefined, {
        expected: "a terminal event",
        actual: end.status,
      });
    },
  ),
  agentCheck(
    {
      clause: "AGT-ACT-010",
      name: "model-errs",
      title: "a model that refuses for good is a failure whose cause is the model.",
    },
    async (t) => {
      await using peers = await t.peers([refusal(Code.InvalidArgument, "INVALID_FIELD")]);
      const { id } = await t.open(peers);
      const end = await t.activate(id);
      failed(t, "the activation", end);
      t.judge.that(
        "the failure's kind",
        end.failure?.kind === FailureKind.MODEL_UNAVAILABLE ||
          end.failure?.kind === FailureKind.MODEL_INVALID_OUTPUT ||
          (end.failure?.causes.length ?? 0) > 0,
        {
          expected: "MODEL_UNAVAILABLE, MODEL_INVALID_OUTPUT, or a cause",
          actual: end.failure,
        },
      );
    },
  ),
  agentCheck(
    {
      clause: "AGT-ACT-011",
      name: "usage",
      title: "usage is what the model reported, summed once.",
    },
    async (t) => {
      const usage = { inputTokens: 10n, outputTokens: 3n };
      await using peers = await t.peers([calls([look("c1")], { usage }), says("done", { usage })]);
      const { id } = await t.open(peers);
      const { completed } = await t.activate(id);
      t.judge.equal("usage.input_tokens", completed?.usage?.inputTokens, 20n);
      t.judge.equal("usage.output_tokens", completed?.usage?.outputTokens, 6n);
      t.judge.equal("usage.model_calls", completed?.usage?.modelCalls, 2);
    },
  ),
  agentCheck(
    {
      clause: "AGT-ACT-012",
      name: "continues",
      title: "a second activation continues the conversation of the first.",
      features: [Feature.CONTINUATION],
    },
    async (t) => {
      await using peers = await t.peers([says("first-7"), says("second")]);
      const { id } = await t.open(peers);
      await t.activate(id, { input: [t.said("ask-1")] });
      stopped(
        t,
        "the second activation",
        await t.activate(id, { activationIndex: 1, input: [t.said("ask-2")] }),
        StopReason.DONE,
      );
      const text = textOfItems(peers.model.asked[1]?.prompt?.items ?? []);
      t.judge.that(
        "the second prompt",
        ["ask-1", "first-7", "ask-2"].every((word) => text.includes(word)),
        {
          expected: "the first turn in it",
          actual: text,
        },
      );
    },
  ),
  agentCheck(
    {
      clause: "AGT-ACT-013",
      name: "granted-only",
      title: "a tool that was not granted is not called at the environment.",
    },
    async (t) => {
      await using peers = await t.peers([calls([{ ...look("c1"), name: "delete_all" }]), says("done")]);
      const { id } = await t.open(peers);
      await t.activate(id);
      t.judge.that("model calls", peers.model.asked.length > 0, { expected: "at least one", actual: 0 });
      t.judge.equal("steps at the environment", peers.tools.steps.length, 0);
    },
  ),
  agentCheck(
    { clause: "AGT-ACT-017", name: "context-full", title: "a full context is completed CONTEXT_LENGTH." },
    async (t) => {
      await using peers = await t.peers([{ choices: [{ finishReason: FinishReason.CONTEXT_LENGTH }] }]);
      const { id } = await t.open(peers);
      stopped(t, "the activation", await t.activate(id), StopReason.CONTEXT_LENGTH);
    },
  ),
  agentCheck(
    {
      clause: "AGT-ACT-016",
      name: "max-tokens",
      title: "output tokens spent are completed MAX_TOKENS.",
    },
    async (t) => {
      const usage = { inputTokens: 10n, outputTokens: 60n };
      await using peers = await t.peers([calls([look("c1")], { usage }), calls([look("c2")], { usage })]);
      const { id } = await t.open(peers);
      const end = await t.activate(id, { budget: { maxOutputTokens: 50n } });
      stopped(t, "the activation", end, StopReason.MAX_TOKENS);
    },
  ),
  agentCheck(
    {
      clause: "AGT-ACT-018",
      name: "wall-time",
      title: "wall time spent while the model is silent is completed WALL_TIME.",
      lane: "waiting",
    },
    async (t) => {
      await using peers = await t.peers([calls([look("c1")]), "hang"]);
      const { id } = await t.open(peers);
      const end = await t.activate(id, { budget: { wallTime: duration(1_000) }, timeout: duration(20_000) });
      stopped(t, "the activation", end, StopReason.WALL_TIME);
      t.judge.that(
        "the work so far",
        end.events.some(({ event }) => event.case === "item"),
        {
          expected: "items of the first call",
          actual: "none",
        },
      );
    },
  ),
  agentCheck(
    {
      clause: "AGT-ACT-023",
      name: "hanging-tool",
      title: "a harness that waits for a hanging tool is ended at its wall time: WALL_TIME.",
      lane: "waiting",
    },
    async (t) => {
      await using peers = await t.peers([calls([look("c1")])], () => "hang");
      const { id } = await t.open(peers);
      const end = await t.activate(id, { budget: { wallTime: duration(1_000) }, timeout: duration(30_000) });
      stopped(t, "the activation", end, StopReason.WALL_TIME);
    },
  ),
  agentCheck(
    {
      clause: "AGT-ACT-024",
      name: "timeout",
      title: "a passed timeout is failure TIMEOUT.",
      lane: "waiting",
    },
    async (t) => {
      await using peers = await t.peers(["hang"]);
      const { id } = await t.open(peers);
      const end = await t.activate(id, { timeout: duration(1_000) });
      failed(t, "the activation", end);
      t.judge.equal("its kind", end.failure?.kind, FailureKind.TIMEOUT);
    },
  ),
  agentCheck(
    { clause: "AGT-ACT-020", name: "refusal", title: "a model's refusal is completed REFUSAL." },
    async (t) => {
      await using peers = await t.peers([says("no", { finish: FinishReason.REFUSAL, refusal: true })]);
      const { id } = await t.open(peers);
      stopped(t, "the activation", await t.activate(id), StopReason.REFUSAL);
    },
  ),
  agentCheck(
    {
      clause: "AGT-ACT-021",
      name: "environment-ended",
      title: "a step refused EPISODE_ENDED ends the turn with ENVIRONMENT_ENDED.",
    },
    async (t) => {
      await using peers = await t.peers([calls([look("c1")]), says("done")], () =>
        refusal(Code.FailedPrecondition, "EPISODE_ENDED"),
      );
      const { id } = await t.open(peers);
      stopped(t, "the activation", await t.activate(id), StopReason.ENVIRONMENT_ENDED);
      t.judge.equal("steps at the environment", peers.tools.steps.length, 1);
    },
  ),
  agentCheck(
    {
      clause: "AGT-ACT-022",
      name: "done",
      title: "a turn that ends by itself is DONE, or AWAITING_INPUT.",
      stacks: ["connect-node", "grpc-js"],
    },
    async (t) => {
      await using peers = await t.peers();
      const { id } = await t.open(peers);
      const { completed } = await t.activate(id);
      const stop = completed?.stopReason ?? StopReason.UNSPECIFIED;
      t.judge.that("stop_reason", stop === StopReason.DONE || stop === StopReason.AWAITING_INPUT, {
        expected: "DONE or AWAITING_INPUT",
        actual: StopReason[stop],
      });
    },
  ),
  agentCheck(
    {
      clause: "AGT-ACT-025",
      name: "terminal-is-whole",
      title: "completed holds the output items of the events, and usage.",
    },
    async (t) => {
      await using peers = await t.peers([calls([look("c1")]), says("done")]);
      const { id } = await t.open(peers);
      const { events, completed } = await t.activate(id);
      const items = events.flatMap(({ event }) => (event.case === "item" ? [event.value] : []));
      t.judge.that("items of the events", items.length > 0, { expected: "some", actual: "none" });
      if (completed?.outputRef === undefined) t.judge.equal("completed.output", completed?.output, items);
      t.judge.that("completed.usage", completed?.usage !== undefined, {
        expected: "to be there",
        actual: "nothing",
      });
    },
  ),
  agentCheck(
    { clause: "AGT-ACT-026", name: "summaries", title: "each model call is told in a summary event." },
    async (t) => {
      await using peers = await t.peers([calls([look("c1")]), says("done")]);
      const { id } = await t.open(peers);
      const { events } = await t.activate(id);
      const told = events.filter(({ event }) => event.case === "modelCall").length;
      t.judge.equal("summary events", told, peers.model.asked.length);
    },
  ),
  agentCheck(
    {
      clause: "AGT-ACT-027",
      name: "budget-each",
      title: "a budget of two turns is two for each of two activations.",
      features: [Feature.CONTINUATION],
    },
    async (t) => {
      await using peers = await t.peers([calls([look("c1")])]);
      const { id } = await t.open(peers);
      for (const activationIndex of [0, 1]) {
        const end = await t.activate(id, { activationIndex, budget: { maxTurns: 2 } });
        stopped(t, `activation ${activationIndex}`, end, StopReason.MAX_TURNS);
      }
      t.judge.equal("model calls", peers.model.asked.length, 4);
    },
  ),
  agentCheck(
    {
      clause: "AGT-ACT-028",
      name: "no-continuation",
      title: "without CONTINUATION a second activation is refused FEATURE_UNSUPPORTED.",
      sendsInvalid: true,
    },
    async (t) => {
      if (t.has(Feature.CONTINUATION)) t.notApplicable("the subject declares CONTINUATION");
      await using peers = await t.peers();
      const { id } = await t.open(peers);
      await t.activate(id);
      t.judge.refused("a second activation", await t.activate(id, { activationIndex: 1 }));
    },
  ),
  agentCheck(
    {
      clause: "AGT-ACT-029",
      name: "same-step-name",
      title: "a step whose answer was lost is sent again under the same name, with the token of its access.",
    },
    async (t) => {
      const answer = results("ok");
      await using peers = await t.peers([calls([look("c1")]), says("done")], (request, count) =>
        count === 0 ? new ConnectError("the proxy lost it", Code.Unavailable) : answer(request, count),
      );
      const { id } = await t.open(peers);
      await t.activate(id);
      const { steps } = peers.tools;
      t.judge.that("steps at the environment", steps.length > 0, {
        expected: "at least one",
        actual: "none",
      });
      for (const step of steps.slice(1)) t.judge.equal("the repeat", step, steps[0]);
      const tokens = peers.tools.calls
        .filter(({ rpc }) => rpc === "Step")
        .map(({ headers }) => headers.get("authorization"));
      t.judge.each("tokens of the steps", tokens, (token) =>
        t.judge.equal("authorization", token, "Bearer tool-token"),
      );
    },
  ),
  agentCheck(
    {
      clause: "AGT-ACT-030",
      name: "never-verifies",
      title: "the agent calls neither Verify, Close nor KeepAlive of the environment.",
    },
    async (t) => {
      await using peers = await t.peers([calls([look("c1")]), says("done")]);
      const { request, id } = await t.open(peers);
      await t.activate(id);
      const episodeId = request.context?.episodeId;
      t.judge.answer(
        "Close",
        await t.calls.close({ sessionId: id, ...(episodeId === undefined ? {} : { episodeId }) }),
      );
      const wrong = ["verify", "close", "keepAlive"] as const;
      t.judge.equal(
        "calls of the environment's own",
        wrong.flatMap((rpc) => peers.tools.requests(EnvironmentService, rpc)),
        [],
      );
    },
  ),
  agentCheck(
    {
      clause: "AGT-CLOS-005",
      name: "no-late-calls",
      title: "after Close in the middle of a turn no call comes to any peer.",
    },
    async (t) => {
      await using peers = await t.peers(["hang"]);
      const { request, id } = await t.open(peers);
      const running = t.activate(id);
      await t.pause(quietMs);
      const episodeId = request.context?.episodeId;
      t.judge.answer(
        "Close",
        await t.elsewhere().close({ sessionId: id, ...(episodeId === undefined ? {} : { episodeId }) }),
      );
      await running;
      const before = peers.model.calls.length + peers.tools.calls.length;
      await t.pause(2_000);
      t.judge.equal("calls afterwards", peers.model.calls.length + peers.tools.calls.length, before);
    },
  ),
  agentCheck(
    {
      clause: "AGT-CLOS-007",
      name: "no-call-is-zero",
      title: "a session that made no model call is closed with model_calls 0.",
    },
    async (t) => {
      await using peers = await t.peers();
      const { request, id } = await t.open(peers);
      const episodeId = request.context?.episodeId;
      const closed = t.judge.answer(
        "Close",
        await t.calls.close({ sessionId: id, ...(episodeId === undefined ? {} : { episodeId }) }),
      );
      t.judge.equal("usage.model_calls", closed.usage?.modelCalls ?? 0, 0);
      t.judge.equal("activations", closed.activations, 0);
    },
  ),
];
