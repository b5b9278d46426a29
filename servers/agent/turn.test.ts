import { create } from "@bufbuild/protobuf";
import { expect, describe as group, it } from "vitest";
import { FailureKind, FinishReason, Retry, StepResponseSchema, StopReason } from "../../gen/index.js";
import { Refusal } from "../runtime/refusal.js";
import { add, text, toolCalls } from "./fixtures/scripted-model.js";
import { assistant, line, ServedAgent, type Turned, textBlock, user } from "./fixtures/served-agent.js";
import { oracle } from "./harnesses/oracle.js";
import { toolLoop } from "./harnesses/tool-loop.js";

const output = ({ completed }: Turned): string[] => completed?.output.map(line) ?? [];

group("A turn of tool-loop", () => {
  it("calls each tool once, gives its result to the model, and ends when the model does (AGT-ACT-006, -022)", async () => {
    await using agent = await ServedAgent.start(toolLoop);
    agent.model.says(
      toolCalls([add("c1"), add("c2", 3, 4)]),
      toolCalls([add("c3", 5, 6)]),
      text("3, 7 and 11"),
    );
    await agent.opened();
    const turned = await agent.activate();
    expect(turned.completed?.stopReason).toBe(StopReason.DONE);
    expect(output(turned)).toEqual([
      "agent call c1 add",
      "agent call c2 add",
      "result c1: 3",
      "result c2: 7",
      "agent call c3 add",
      "result c3: 11",
      "agent ASSISTANT: 3, 7 and 11",
    ]);
    expect(agent.steps.map(({ name }) => name.value)).toEqual(["s1/0/0", "s1/0/1", "s1/0/2"]);
    expect(agent.model.asked.map(({ prompt }) => prompt?.items.map(line))).toEqual([
      ["USER: go"],
      ["USER: go", "agent call c1 add", "agent call c2 add", "result c1: 3", "result c2: 7"],
      [
        ...["USER: go", "agent call c1 add", "agent call c2 add", "result c1: 3", "result c2: 7"],
        ...["agent call c3 add", "result c3: 11"],
      ],
    ]);
    // AGT-ACT-030
    expect(new Set(agent.seen.map(({ rpc }) => rpc))).toEqual(new Set(["listTools", "generate", "step"]));
  });

  it("tells each item and each model call as it happens; the terminal event is their sum (AGT-ACT-025, -026)", async () => {
    await using agent = await ServedAgent.start(toolLoop);
    agent.model.says(
      {
        ...toolCalls([add("c1")], { usage: { inputTokens: 10n, outputTokens: 5n, costUsd: 0.5 } }),
        callId: "k1",
      },
      { ...text("3", { usage: { inputTokens: 20n, outputTokens: 1n, reasoningTokens: 1n } }), callId: "k2" },
    );
    await agent.opened({ agentId: "b", toolAccesses: [] });
    const { events, completed } = await agent.activate();
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, i) => BigInt(i + 1)));
    expect(events.map(({ event }) => event.case)).toEqual([
      ...["accepted", "modelCall", "item", "item", "modelCall", "item", "completed"],
    ]);
    const items = events.flatMap(({ event }) => (event.case === "item" ? [event.value] : []));
    expect(completed?.output).toEqual(items);
    // AGT-OPEN-008
    expect(items.map(({ agentId }) => agentId)).toEqual(["b", "b", "b"]);
    expect(new Set(items.map(({ itemId }) => itemId)).size).toBe(3);
    const calls = events.flatMap(({ event }) => (event.case === "modelCall" ? [event.value] : []));
    expect(calls).toMatchObject([{ callId: "k1", usage: { inputTokens: 10n } }, { callId: "k2" }]);
    // AGT-ACT-011
    expect(completed?.usage).toMatchObject({
      inputTokens: 30n,
      outputTokens: 6n,
      reasoningTokens: 1n,
      modelCalls: 2,
      toolCalls: 0,
      costUsd: 0.5,
    });
  });

  it("passes items on whole: opaque ones, reasoning, ids, what a dialect says beside", async () => {
    await using agent = await ServedAgent.start(toolLoop);
    const items = [
      {
        itemId: "r1",
        turnId: "t",
        kind: { case: "reasoning" as const, value: { sealed: Buffer.from([0, 255]) } },
      },
      {
        itemId: "o1",
        kind: { case: "opaque" as const, value: { type: "x:y", json: '{"z": 1}' } },
        extraJson: "{}",
      },
      { ...assistant("so"), itemId: "m1", turnId: "t" },
    ];
    agent.model.says({ choices: [{ items, finishReason: FinishReason.STOP }] });
    await agent.opened();
    const { completed } = await agent.activate();
    expect(completed?.output).toMatchObject(items);
  });

  it("gives a tool's error to the model and goes on (AGT-ACT-007)", async () => {
    await using agent = await ServedAgent.start(toolLoop);
    const value = { callId: "c1", content: [textBlock("no such number")], isError: true };
    agent.environment.script.step = async () =>
      create(StepResponseSchema, {
        outcomes: [{ agentId: "agent", observation: { items: [{ kind: { case: "toolResult", value } }] } }],
        nextAgents: ["agent"],
      });
    agent.model.says(toolCalls([add("c1")]), text("sorry"));
    await agent.opened();
    const turned = await agent.activate();
    expect(output(turned)).toEqual([
      "agent call c1 add",
      "result c1 error: no such number",
      "agent ASSISTANT: sorry",
    ]);
    expect(turned.completed?.stopReason).toBe(StopReason.DONE);
  });

  it("never runs what cannot be run as written: the model reads why (field-case-087, AGT-ACT-009, -013)", async () => {
    await using agent = await ServedAgent.start(toolLoop);
    agent.model.says(
      toolCalls([
        { callId: "c1", name: "add", argumentsJson: '{"a": 1,', incomplete: true },
        { callId: "c2", name: "add", argumentsJson: '{"a": 1' },
        { callId: "c3", name: "add", argumentsJson: "[1, 2]" },
        { callId: "c4", name: "rm", argumentsJson: '{"path": "/"}' },
      ]),
      text("I see"),
    );
    await agent.opened();
    const turned = await agent.activate();
    expect(agent.environment.count("step")).toBe(0);
    expect(turned.completed).toMatchObject({ stopReason: StopReason.DONE, usage: { toolCalls: 0 } });
    expect(output(turned).slice(4)).toEqual([
      "agent result c1 error: The call was cut by a limit and was not run.",
      "agent result c2 error: The arguments are not the text of a JSON object. The tool was not run.",
      "agent result c3 error: The arguments are not the text of a JSON object. The tool was not run.",
      'agent result c4 error: There is no tool "rm". Tools: add.',
      "agent ASSISTANT: I see",
    ]);
    expect(agent.model.asked[1]?.prompt?.items).toHaveLength(9);
  });

  it("gives the model what the environment refuses as malformed, in its words", async () => {
    await using agent = await ServedAgent.start(toolLoop);
    agent.environment.script.step = async () => {
      throw new Refusal("INVALID_FIELD", "actions[0].tool_call.arguments_json.a: expected a number");
    };
    agent.model.says(toolCalls([add("c1")]), text("ok"));
    await agent.opened();
    expect(output(await agent.activate())[1]).toBe(
      "result c1 error: actions[0].tool_call.arguments_json.a: expected a number",
    );
  });

  it("gives the model what is refused because it is not its turn (ENV-MULT-003)", async () => {
    await using agent = await ServedAgent.start(toolLoop);
    agent.environment.script.step = async () => {
      throw new Refusal("OUT_OF_TURN", "it is not the turn of agent");
    };
    agent.model.says(toolCalls([add("c1")]), text("I wait"));
    await agent.opened();
    const turned = await agent.activate();
    expect(turned.completed?.stopReason).toBe(StopReason.DONE);
    expect(output(turned)[1]).toBe("result c1 error: it is not the turn of agent");
  });

  it("tells the model whatever else the environment says with a result, and makes one where there is none", async () => {
    await using agent = await ServedAgent.start(toolLoop);
    let step = 0;
    agent.environment.script.step = async () => {
      step += 1;
      const content = [textBlock("a picture")];
      const observation = step === 1 ? { items: [user("the door opens")], content } : {};
      return create(StepResponseSchema, {
        outcomes: [{ agentId: "agent", observation }],
        nextAgents: ["agent"],
      });
    };
    agent.model.says(toolCalls([add("c1")]), toolCalls([add("c2")]), text("ok"));
    await agent.opened();
    await agent.activate();
    expect(agent.model.asked[2]?.prompt?.items.map(line)).toEqual([
      ...["USER: go", "agent call c1 add", "result c1: a picture", "USER: the door opens"],
      ...["agent call c2 add", "result c2: "],
    ]);
  });

  it("continues the conversation at the next activation, unanswered calls apart (AGT-ACT-012)", async () => {
    await using agent = await ServedAgent.start(toolLoop, { defaults: { ask_tool: "ask" } });
    agent.model.says(
      toolCalls([
        add("c1"),
        { callId: "q1", name: "ask", argumentsJson: '{"question": "which?"}' },
        add("c2"),
      ]),
      text("42"),
    );
    await agent.opened({ instructions: "Be brief." });
    const first = await agent.activate({ input: [user("add them")] });
    expect(first.completed?.stopReason).toBe(StopReason.AWAITING_INPUT);
    expect(agent.model.asked[0]?.prompt?.tools.map(({ name }) => name)).toEqual(["add", "ask"]);
    const second = await agent.activate({ activationIndex: 1, input: [user("both")] });
    expect(agent.model.asked[1]?.prompt?.items.map(line)).toEqual([
      ...[
        "SYSTEM: Be brief.",
        "USER: add them",
        "agent call c1 add",
        "agent call q1 ask",
        "agent call c2 add",
      ],
      ...["result c1: 3"],
      "result q1: The turn ended here; the tool gave no result.",
      "result c2: The turn ended here; the tool gave no result.",
      "USER: both",
    ]);
    expect(output(second)).toEqual(["agent ASSISTANT: 42"]);
    expect(agent.steps.map(({ name }) => name.value)).toEqual(["s1/0/0"]);
  });

  it("uses the tools that an activation puts in place from then on", async () => {
    await using agent = await ServedAgent.start(toolLoop);
    await agent.opened();
    await agent.activate({ tools: { tools: [{ name: "other" }] } });
    await agent.activate({ activationIndex: 1 });
    expect(agent.model.asked.map(({ prompt }) => prompt?.tools.map(({ name }) => name))).toEqual([
      ["other"],
      ["other"],
    ]);
  });
});

group("A turn of the oracle", () => {
  it("does what the reference says, tools and artifacts included", async () => {
    await using agent = await ServedAgent.start(oracle);
    const call = { kind: { case: "toolCall" as const, value: add("c1") } };
    await agent.opened({
      reference: {
        items: [call, assistant("#### 3")],
        artifacts: [{ name: "patch", body: { case: "inline", value: Buffer.from("x") } }],
      },
    });
    const turned = await agent.activate();
    expect(output(turned)).toEqual(["agent call c1 add", "result c1: 3", "agent ASSISTANT: #### 3"]);
    expect(turned.completed).toMatchObject({
      stopReason: StopReason.DONE,
      artifacts: [{ name: "patch" }],
      // AGT-CLOS-007
      usage: { modelCalls: 0, toolCalls: 1 },
    });
    expect((await agent.close()).message).toMatchObject({
      activations: 1,
      usage: { modelCalls: 0, toolCalls: 1 },
    });
  });

  it("fails where a call of the reference is refused or ends in an error, and says which and why", async () => {
    const refused = { ...add("c1"), name: "subtract" };
    for (const [call, why] of [
      [refused, "none of the reference's tools (subtract) is offered: add"],
      [
        { ...add("c2"), argumentsJson: "3" },
        'call "c2" of tool "add" was answered with an error: The arguments',
      ],
    ] as const) {
      await using agent = await ServedAgent.start(oracle);
      const items = [{ kind: { case: "toolCall" as const, value: call } }, assistant("#### 3")];
      await agent.opened({ reference: { items } });
      const { failure } = await agent.activate();
      expect(failure).toMatchObject({
        kind: FailureKind.HARNESS_CRASHED,
        retry: Retry.NEVER,
        reason: expect.stringContaining(why),
      });
    }
  });

  it("fails where it was given none", async () => {
    await using agent = await ServedAgent.start(oracle);
    await agent.opened();
    expect((await agent.activate()).failure?.reason).toContain("no reference");
  });
});
