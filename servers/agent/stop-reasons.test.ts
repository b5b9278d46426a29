import { create } from "@bufbuild/protobuf";
import { expect, describe as group, it } from "vitest";
import { z } from "zod";
import { FinishReason, StepResponseSchema, StopReason } from "../../gen/index.js";
import { hang } from "../../test/scripted-peer.js";
import { userMessage } from "../runtime/items.js";
import { Refusal } from "../runtime/refusal.js";
import { defineAgent, type Turn } from "./define-agent.js";
import { add, text, toolCalls } from "./fixtures/scripted-model.js";
import { line, ServedAgent } from "./fixtures/served-agent.js";
import { toolLoop } from "./harnesses/tool-loop.js";
import { stopGraceMs } from "./take-turn.js";

const seconds = (s: number) => ({ seconds: BigInt(s), nanos: 0 });
const used = (inputTokens: number, outputTokens: number, costUsd?: number) => ({
  usage: {
    inputTokens: BigInt(inputTokens),
    outputTokens: BigInt(outputTokens),
    ...(costUsd === undefined ? {} : { costUsd }),
  },
});

group("A spent budget ends the turn with its reason and the work so far", () => {
  it("MAX_TURNS by model answers: the tools of the last one still run (AGT-ACT-008, field-case-027)", async () => {
    await using agent = await ServedAgent.start(toolLoop);
    agent.model.says(toolCalls([add("c")]));
    await agent.opened();
    const { completed } = await agent.activate({ budget: { maxTurns: 2 } });
    expect(completed).toMatchObject({
      stopReason: StopReason.MAX_TURNS,
      usage: { modelCalls: 2, toolCalls: 2 },
    });
    expect(completed?.output).toHaveLength(4);
  });

  it("MAX_TURNS by the harness's own bound, which the budget's echo tells", async () => {
    await using agent = await ServedAgent.start(toolLoop, { defaults: { max_turns: 3 } });
    agent.model.says(toolCalls([add("c")]));
    expect((await agent.opened({ budget: { maxTurns: 9 } })).budget?.maxTurns).toBe(3);
    const { completed } = await agent.activate();
    expect(completed).toMatchObject({ stopReason: StopReason.MAX_TURNS, usage: { modelCalls: 3 } });
  });

  it("MAX_TURNS by tool calls", async () => {
    await using agent = await ServedAgent.start(toolLoop);
    agent.model.says(toolCalls([add("c1"), add("c2"), add("c3")]));
    await agent.opened({ budget: { maxToolCalls: 2 } });
    const { completed } = await agent.activate();
    expect(completed).toMatchObject({
      stopReason: StopReason.MAX_TURNS,
      usage: { modelCalls: 1, toolCalls: 2 },
    });
    expect(agent.environment.count("step")).toBe(2);
  });

  it("counts each turn's budget for that turn alone (AGT-ACT-027)", async () => {
    await using agent = await ServedAgent.start(toolLoop);
    agent.model.says(toolCalls([add("c")]));
    await agent.opened({ budget: { maxTurns: 2 } });
    for (const activationIndex of [0, 1]) {
      const { completed } = await agent.activate({ activationIndex });
      expect(completed).toMatchObject({ stopReason: StopReason.MAX_TURNS, usage: { modelCalls: 2 } });
    }
    // What the session used is the sum.
    expect((await agent.close()).message?.usage).toMatchObject({ modelCalls: 4, toolCalls: 4 });
  });

  it("MAX_TOKENS by output: what is left bounds the next answer (AGT-ACT-016)", async () => {
    await using agent = await ServedAgent.start(toolLoop);
    agent.model.says(toolCalls([add("c")], used(10, 30)));
    await agent.opened();
    const { completed } = await agent.activate({ budget: { maxOutputTokens: 50n } });
    expect(completed).toMatchObject({
      stopReason: StopReason.MAX_TOKENS,
      usage: { outputTokens: 60n, modelCalls: 2, toolCalls: 1 },
    });
    expect(agent.model.asked.map(({ sampling }) => sampling?.maxOutputTokens)).toEqual([50n, 20n]);
  });

  it("MAX_TOKENS by input and output together", async () => {
    await using agent = await ServedAgent.start(toolLoop);
    agent.model.says(toolCalls([add("c")], used(40, 10)));
    await agent.opened();
    const { completed } = await agent.activate({ budget: { maxTotalTokens: 100n } });
    expect(completed).toMatchObject({ stopReason: StopReason.MAX_TOKENS, usage: { modelCalls: 2 } });
    expect(agent.model.asked.map(({ sampling }) => sampling?.maxOutputTokens)).toEqual([100n, 50n]);
  });

  it("MAX_TOKENS by finish LENGTH: a cut call is never run (AGT-ACT-009, field-case-087)", async () => {
    await using agent = await ServedAgent.start(toolLoop);
    agent.model.says(
      toolCalls([add("c1"), { callId: "c2", name: "add", argumentsJson: '{"a', incomplete: true }], {
        finish: FinishReason.LENGTH,
      }),
    );
    await agent.opened();
    const { completed } = await agent.activate();
    expect(completed?.stopReason).toBe(StopReason.MAX_TOKENS);
    expect(completed?.output.map(line)).toEqual(["agent call c1 add", "agent call c2 add"]);
    expect(agent.environment.count("step")).toBe(0);
  });

  it("CONTEXT_LENGTH by finish (AGT-ACT-017) and by budget", async () => {
    await using agent = await ServedAgent.start(toolLoop);
    await agent.opened();
    agent.model.says({ choices: [{ finishReason: FinishReason.CONTEXT_LENGTH }] });
    expect((await agent.activate()).completed?.stopReason).toBe(StopReason.CONTEXT_LENGTH);
    agent.model.says(toolCalls([add("c")], used(60, 20)), toolCalls([add("d")], used(90, 10)));
    const budget = { maxContextTokens: 100n };
    const full = await agent.activate({ activationIndex: 1, budget });
    expect(full.completed).toMatchObject({ stopReason: StopReason.CONTEXT_LENGTH, usage: { modelCalls: 2 } });
    expect(agent.model.asked.map(({ sampling }) => sampling?.maxOutputTokens)).toEqual([
      undefined,
      100n,
      20n,
    ]);
    // An answer that the budget's own bound cut is cut by the context.
    agent.model.says(text("half", { ...used(95, 5), finish: FinishReason.LENGTH }));
    const cut = await agent.activate({ activationIndex: 2, budget });
    expect(cut.completed?.stopReason).toBe(StopReason.CONTEXT_LENGTH);
  });

  it("MAX_COST, as soon as an answer goes beyond it (AGT-ACT-019)", async () => {
    await using agent = await ServedAgent.start(toolLoop);
    agent.model.says(toolCalls([add("c")], used(1, 1, 0.4)));
    await agent.opened();
    const { completed } = await agent.activate({ budget: { maxCostUsd: 1 } });
    expect(completed?.stopReason).toBe(StopReason.MAX_COST);
    expect(completed?.usage).toMatchObject({ modelCalls: 3, toolCalls: 2 });
    expect(completed?.usage?.costUsd).toBeCloseTo(1.2);
  });

  it("REFUSAL, of the model and of its provider's filter (AGT-ACT-020)", async () => {
    await using agent = await ServedAgent.start(toolLoop);
    await agent.opened();
    for (const [activationIndex, finish] of [FinishReason.REFUSAL, FinishReason.CONTENT_FILTER].entries()) {
      agent.model.says(text("I will not.", { finish }));
      const { completed } = await agent.activate({ activationIndex });
      expect(completed?.stopReason).toBe(StopReason.REFUSAL);
      expect(completed?.output).toHaveLength(1);
    }
  });

  it("ENVIRONMENT_ENDED: a step refused EPISODE_ENDED, and a step that ended the episode (AGT-ACT-021)", async () => {
    await using agent = await ServedAgent.start(toolLoop);
    await agent.opened();
    agent.model.says(toolCalls([add("c1"), add("c2")]));
    agent.environment.script.step = async () => {
      throw new Refusal("EPISODE_ENDED", "over");
    };
    const before = await agent.activate();
    expect(before.completed?.stopReason).toBe(StopReason.ENVIRONMENT_ENDED);
    expect(agent.environment.count("step")).toBe(1);
    // With several agents its own part may end before the episode does (ENV-MULT-006).
    const ownEnd = { outcomes: [{ agentId: "other" }, { agentId: "agent", terminated: true }] };
    for (const [i, end] of [{ terminated: true }, { truncated: true }, ownEnd].entries()) {
      agent.environment.script.step = async () => create(StepResponseSchema, end);
      const now = await agent.activate({ activationIndex: i + 1 });
      expect(now.completed?.stopReason).toBe(StopReason.ENVIRONMENT_ENDED);
      expect(agent.environment.count("step")).toBe(i + 2);
    }
  });

  it("WALL_TIME: the call on its way is cut and told, what was said is kept (AGT-ACT-018)", async () => {
    await using agent = await ServedAgent.start(toolLoop);
    agent.model.says(toolCalls([add("c1")]), (_request, call) => hang(call));
    await agent.opened({ budget: { wallTime: seconds(30) } });
    const turning = agent.activate();
    await agent.model.peer.arrived("generate", 2);
    agent.clock.advance(30_000);
    const { completed, events } = await turning;
    expect(completed).toMatchObject({
      stopReason: StopReason.WALL_TIME,
      usage: { modelCalls: 2, toolCalls: 1, modelTime: seconds(30) },
    });
    expect(completed?.output).toHaveLength(2);
    const calls = events.flatMap(({ event }) => (event.case === "modelCall" ? [event.value] : []));
    expect(calls.map(({ failure }) => failure !== undefined)).toEqual([false, true]);
  });
});

group("A harness that does not stop", () => {
  /** Works until the test lets it go, deaf to its signal. */
  function deaf() {
    const turns: Turn<object>[] = [];
    let letGo: () => void = () => {};
    const gone = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const definition = defineAgent({
      name: "deaf",
      version: "1",
      needsModel: true,
      options: z.strictObject({}),
      async activate(turn) {
        turns.push(turn);
        turn.say(userMessage("before"));
        await gone;
        turn.say(userMessage("after"));
        await turn.generate({ items: [userMessage("after")] });
        return { stopReason: StopReason.DONE };
      },
    });
    return { definition, turns, letGo };
  }

  it("is ended by the agent server: WALL_TIME, and nothing that it does later is heard (AGT-ACT-023)", async () => {
    const { definition, letGo } = deaf();
    await using agent = await ServedAgent.start(definition);
    await agent.opened({ budget: { wallTime: seconds(1) } });
    const turning = agent.activate();
    await agent.settle();
    agent.clock.advance(1000);
    agent.clock.advance(stopGraceMs);
    const first = await turning;
    expect(first.completed).toMatchObject({ stopReason: StopReason.WALL_TIME, usage: { modelCalls: 0 } });
    expect(first.completed?.output.map(line)).toEqual(["agent USER: before"]);
    letGo();
    await agent.settle();
    expect(agent.model.asked).toEqual([]);
    const again = await agent.activate();
    expect(again.events).toEqual(first.events);
    expect((await agent.transcript()).map(({ record }) => record.case)).toEqual([
      ...["begun", "item", "item", "ended"],
    ]);
  });

  it("is told by a Close that cannot confirm until it has stopped (ALL-CLOSE-007, ALL-CLOSE-014)", async () => {
    const { definition, letGo } = deaf();
    await using agent = await ServedAgent.start(definition);
    await agent.opened({ budget: { wallTime: seconds(1) } });
    const turning = agent.activate();
    await agent.settle();
    agent.clock.advance(1000);
    agent.clock.advance(stopGraceMs);
    await turning;
    const closing = agent.close();
    await agent.settle();
    agent.clock.advance(10_000);
    expect((await closing).message?.receipt).toMatchObject({
      cleanupConfirmed: false,
      left: [{ kind: "operation" }],
    });
    letGo();
    await agent.settle();
    expect((await agent.close()).message?.receipt).toMatchObject({ cleanupConfirmed: true, left: [] });
  });

  it("keeps the session from its next turn while it runs on: SESSION_BUSY, and no index is used (ALL-ORDER-003)", async () => {
    const { definition, turns, letGo } = deaf();
    await using agent = await ServedAgent.start(definition);
    await agent.opened({ budget: { wallTime: seconds(1) } });
    const turning = agent.activate();
    await agent.settle();
    agent.clock.advance(1000);
    agent.clock.advance(stopGraceMs);
    expect((await turning).completed?.stopReason).toBe(StopReason.WALL_TIME);
    const early = agent.activate({ activationIndex: 1 });
    await agent.settle();
    agent.clock.advance(10_000);
    expect((await early).refused).toBe("SESSION_BUSY");
    expect(turns).toHaveLength(1);
    letGo();
    await agent.settle();
    expect((await agent.activate({ activationIndex: 1 })).completed?.stopReason).toBe(StopReason.DONE);
    expect(turns[1]?.history.map(line)).toEqual(["USER: go", "agent USER: before"]);
  });
});
