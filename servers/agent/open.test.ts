import { expect, describe as group, it } from "vitest";
import { FailureKind, Feature, ModelDialect, Retry, SandboxAccessLevel } from "../../gen/index.js";
import { text } from "./fixtures/scripted-model.js";
import { line, method, ServedAgent, user } from "./fixtures/served-agent.js";
import { noop } from "./harnesses/noop.js";
import { oracle } from "./harnesses/oracle.js";
import { toolLoop } from "./harnesses/tool-loop.js";

group("Describe of an agent", () => {
  it("tells harness, features, dialects, options and its own bound of budgets (AGT-DESC-001)", async () => {
    await using agent = await ServedAgent.start(toolLoop, { defaults: { max_turns: 20 } });
    const { message } = await agent.client.unary(method.describe, {});
    expect(message).toMatchObject({
      harness: { name: "tool-loop", version: "1.0.0" },
      modelDialects: [ModelDialect.TOUCHSTONE_V1],
      maxBudget: { maxTurns: 20 },
      service: { features: [Feature.CONTINUATION, Feature.INTERRUPT, Feature.TOOLS_BY_STEP] },
    });
    expect(message?.sandboxRequirements).toBeUndefined();
    expect(JSON.parse(message?.optionsSchemaJson ?? "")).toMatchObject({
      type: "object",
      properties: { max_turns: { type: "integer" }, ask_tool: { type: "string" } },
      additionalProperties: false,
    });
  });

  it("declares REFERENCE for an oracle and needs no model for it", async () => {
    await using agent = await ServedAgent.start(oracle);
    const { message } = await agent.client.unary(method.describe, {});
    expect(message?.service?.features).toContain(Feature.REFERENCE);
    expect(message?.modelDialects).toEqual([]);
  });
});

group("Open", () => {
  it("echoes the budget as enforced: the smaller of what is asked and the harness's own (AGT-OPEN-001)", async () => {
    await using agent = await ServedAgent.start(toolLoop, { defaults: { max_turns: 20 } });
    const wall = { seconds: 3n, nanos: 0 };
    const { budget } = await agent.opened({ budget: { maxTurns: 30, maxToolCalls: 4, wallTime: wall } });
    expect(budget).toMatchObject({ maxTurns: 20, maxToolCalls: 4, wallTime: wall });
    expect(budget?.maxCostUsd).toBeUndefined();
    expect((await agent.opened({ sessionId: "s2", budget: { maxTurns: 5 } })).budget?.maxTurns).toBe(5);
    expect((await agent.opened({ sessionId: "s3", optionsJson: '{"max_turns": 7}' })).budget?.maxTurns).toBe(
      7,
    );
    expect((await agent.opened({ sessionId: "s4" })).budget?.maxTurns).toBe(20);
  });

  it("tells context, dialect, lease and timeout", async () => {
    await using agent = await ServedAgent.start(toolLoop);
    expect(await agent.opened({ lease: { seconds: 20n, nanos: 0 } })).toMatchObject({
      context: { groupId: "g", labels: { a: "1" } },
      dialect: ModelDialect.TOUCHSTONE_V1,
      lease: { duration: { seconds: 20n } },
      timeout: { seconds: 600n },
      skipped: [],
    });
  });

  it("fails where a required tool access cannot be used, and leaves nothing (AGT-OPEN-002)", async () => {
    await using agent = await ServedAgent.start(toolLoop, { limits: { maxSessions: 1 } });
    await agent.environment.crash();
    const { error } = await agent.open();
    expect(error).toMatchObject({ code: "ABORTED", reason: "OPERATION_FAILED" });
    expect(error?.failure).toMatchObject({
      kind: FailureKind.TOOL_UNREACHABLE,
      retry: Retry.NEW_ATTEMPT,
      causes: [{ rpc: "touchstone.v1.EnvironmentService/ListTools", kind: FailureKind.TOOL_UNREACHABLE }],
    });
    // Nothing is held: the only place is free again.
    expect((await agent.open({ sessionId: "s2", toolAccesses: [] })).error).toBeUndefined();
  });

  it("skips an optional access that cannot be used, and tells it (AGT-OPEN-003)", async () => {
    await using agent = await ServedAgent.start(toolLoop);
    const opened = await agent.opened({
      toolAccesses: [
        { name: "mcp", required: false, way: { case: "mcpHttp", value: { url: "http://127.0.0.1:1/mcp" } } },
        agent.access({ name: "nowhere", required: false, url: "ftp://127.0.0.1" }),
        agent.access(),
      ],
    });
    expect(opened.skipped).toMatchObject([
      { name: "mcp", reason: "this agent reaches tools by Step only" },
      { name: "nowhere" },
    ]);
    // The way that works is used.
    agent.model.says(text("fine"));
    expect((await agent.activate()).completed).toBeDefined();
  });

  it("refuses a required access of a way that it does not go, for good", async () => {
    await using agent = await ServedAgent.start(toolLoop);
    const { error } = await agent.open({
      toolAccesses: [{ name: "mcp", required: true, way: { case: "mcpStdio", value: { argv: ["x"] } } }],
    });
    expect(error?.failure).toMatchObject({ kind: FailureKind.TOOL_UNREACHABLE, retry: Retry.NEVER });
  });

  it("refuses a model in no dialect that it speaks, naming what is offered (AGT-OPEN-009)", async () => {
    await using agent = await ServedAgent.start(toolLoop);
    const other = await agent.open({
      modelAccesses: [agent.modelAccess({ dialect: ModelDialect.OPENAI_RESPONSES })],
    });
    expect(other.error).toMatchObject({
      code: "FAILED_PRECONDITION",
      reason: "UNSATISFIED_REQUIREMENT",
      fields: ["model_accesses"],
    });
    expect(other.error?.message).toContain("OPENAI_RESPONSES");
    const unreadable = await agent.open({ modelAccesses: [agent.modelAccess({ baseUrl: "not a url" })] });
    expect(unreadable.error).toMatchObject({
      reason: "INVALID_FIELD",
      fields: ["model_accesses[0].base_url"],
    });
    // A refusal is not recorded: the id is free for what is right.
    const both = [agent.modelAccess({ dialect: ModelDialect.ANTHROPIC_MESSAGES }), agent.modelAccess()];
    expect((await agent.opened({ modelAccesses: both })).dialect).toBe(ModelDialect.TOUCHSTONE_V1);
  });

  it("opens an agent that needs no model without one", async () => {
    await using agent = await ServedAgent.start(noop);
    expect((await agent.opened({ modelAccesses: [] })).dialect).toBeUndefined();
  });

  it("refuses a reference without the feature, a box, and options off the schema", async () => {
    await using agent = await ServedAgent.start(toolLoop);
    expect((await agent.open({ reference: { items: [user("42")] } })).error).toMatchObject({
      code: "UNIMPLEMENTED",
      reason: "FEATURE_UNSUPPORTED",
      metadata: { feature: "REFERENCE" },
    });
    const sandbox = {
      endpoint: { url: "http://127.0.0.1:1" },
      sandboxId: "b",
      level: SandboxAccessLevel.OPERATE,
    };
    expect((await agent.open({ sandbox })).error).toMatchObject({
      reason: "UNSATISFIED_REQUIREMENT",
      fields: ["sandbox"],
    });
    for (const [optionsJson, field] of [
      ['{"max_turns": "many"}', "options_json.max_turns"],
      ['{"max_turn": 3}', "options_json"],
      ["{", "options_json"],
      ["[]", "options_json"],
    ] as const) {
      const { error } = await agent.open({ optionsJson });
      expect(error).toMatchObject({ reason: "INVALID_FIELD", fields: [field] });
    }
  });

  it("gives the model instructions, history and input, in that order (AGT-OPEN-007)", async () => {
    await using agent = await ServedAgent.start(toolLoop);
    await agent.opened({ instructions: "Be brief.", history: [user("earlier")] });
    await agent.activate({ input: [user("now")] });
    const [asked] = agent.model.asked;
    expect(asked?.prompt?.items.map(line)).toEqual(["SYSTEM: Be brief.", "USER: earlier", "USER: now"]);
    expect(asked?.prompt?.tools.map(({ name }) => name)).toEqual(["add"]);
    expect(asked).toMatchObject({ agentId: "agent", context: { groupId: "g" } });
  });

  it("is done once: a repeat replays, other content conflicts, the accesses are tried once", async () => {
    await using agent = await ServedAgent.start(toolLoop);
    const opened = await Promise.all(Array.from({ length: 5 }, () => agent.opened()));
    expect(new Set(opened.map(({ answerId }) => answerId)).size).toBe(1);
    expect(agent.environment.count("listTools")).toBe(1);
    expect((await agent.open({ instructions: "other" })).error).toMatchObject({
      code: "ALREADY_EXISTS",
      reason: "OPERATION_CONFLICT",
    });
    await agent.close();
    expect((await agent.open()).error?.reason).toBe("SESSION_CLOSED");
  });

  it("is refused beyond capacity, with RetryInfo", async () => {
    await using agent = await ServedAgent.start(toolLoop, { limits: { maxSessions: 1 } });
    await agent.opened();
    const { error } = await agent.open({ sessionId: "s2" });
    expect(error).toMatchObject({ code: "RESOURCE_EXHAUSTED", reason: "CAPACITY" });
    expect(error?.retryAfterMs).toBeGreaterThan(0);
  });

  it("carries the episode's key and the granted credentials in all its calls (ALL-SCOPE-004, AGT-ACT-029)", async () => {
    await using agent = await ServedAgent.start(toolLoop);
    await agent.open({}, { metadata: { "touchstone-key": "the-driver's-key" } });
    await agent.activate();
    expect(agent.seen.map(({ rpc }) => rpc)).toEqual(["listTools", "generate"]);
    for (const { peer, headers } of agent.seen) {
      expect(headers.get("touchstone-key")).toBe("the-driver's-key");
      expect(headers.get("authorization")).toBe(peer === "model" ? "Bearer model-key" : "Bearer tool-token");
    }
    await agent.opened({ sessionId: "s2" });
    expect(agent.seen.at(-1)?.headers.get("touchstone-key")).toBe("r1");
  });
});
