import { Code } from "@connectrpc/connect";
import { expect, describe as group, it } from "vitest";
import { z } from "zod";
import {
  Boundary,
  Delivery,
  FailureKind,
  type FinishReason,
  Retry,
  Stage,
  StopReason,
} from "../../gen/index.js";
import { bareStatus, hang } from "../../test/scripted-peer.js";
import { OperationFailedError, OperationFailure, toFailure } from "../runtime/failure.js";
import { userMessage } from "../runtime/items.js";
import { Refusal } from "../runtime/refusal.js";
import { defineAgent } from "./define-agent.js";
import { add, text, toolCalls } from "./fixtures/scripted-model.js";
import { line, ServedAgent } from "./fixtures/served-agent.js";
import { toolLoop } from "./harnesses/tool-loop.js";

const generate = "touchstone.v1.ModelService/Generate";

function recorded(kind: FailureKind, retry: Retry): OperationFailedError {
  const failure = new OperationFailure({ kind, retry, reason: "the engine is out of memory" });
  return new OperationFailedError(toFailure(failure, { stage: Stage.ACTIVATE }), "a1");
}

group("A model that fails is a failure whose cause is the model (AGT-ACT-010)", () => {
  it("dead: MODEL_UNAVAILABLE, another attempt may help, nothing was sent (AGT-OPEN-006)", async () => {
    await using agent = await ServedAgent.start(toolLoop);
    await agent.opened();
    await agent.model.peer.crash();
    const { failure, events } = await agent.activate();
    expect(failure).toMatchObject({
      kind: FailureKind.MODEL_UNAVAILABLE,
      retry: Retry.NEW_ATTEMPT,
      stage: Stage.ACTIVATE,
      agentId: "agent",
      causes: [
        { boundary: Boundary.MODEL, rpc: generate, code: Code.Unavailable, delivery: Delivery.NOT_SENT },
      ],
    });
    expect(events.map(({ event }) => event.case)).toEqual(["accepted", "modelCall", "failed"]);
    // The call's own summary says how it failed (AGT-ACT-026).
    expect(events[1]?.event.value).toMatchObject({ failure: { kind: FailureKind.MODEL_UNAVAILABLE } });
  });

  it("in trouble, without a word: never asked again, since it may have heard (ALL-REPEAT-020)", async () => {
    await using agent = await ServedAgent.start(toolLoop);
    await agent.opened();
    agent.model.says(bareStatus(Code.Unavailable, "/srv/engine.py: connection refused"));
    const { failure } = await agent.activate();
    expect(agent.model.asked).toHaveLength(1);
    expect(failure).toMatchObject({
      kind: FailureKind.MODEL_UNAVAILABLE,
      retry: Retry.NEW_ATTEMPT,
      causes: [{ boundary: Boundary.MODEL, code: Code.Unavailable, delivery: Delivery.POSSIBLY_DELIVERED }],
    });
    // ALL-FAIL-003: what a library or a proxy says is in no answer.
    expect(JSON.stringify(failure, (_key, value) => (typeof value === "bigint" ? 0 : value))).not.toContain(
      "engine.py",
    );
  });

  it("refusing for good: the same would come again", async () => {
    await using agent = await ServedAgent.start(toolLoop);
    await agent.opened();
    agent.model.says(new Refusal("INVALID_FIELD", "prompt.items[0]: no"));
    const { failure } = await agent.activate();
    expect(failure).toMatchObject({
      retry: Retry.NEVER,
      causes: [{ boundary: Boundary.MODEL, code: Code.InvalidArgument, delivery: Delivery.DELIVERED }],
    });
    expect(agent.model.asked).toHaveLength(1);
  });

  it("turning the call away for now is asked again, since nothing happened", async () => {
    await using agent = await ServedAgent.start(toolLoop);
    await agent.opened();
    const busy = new Refusal("RATE_LIMITED", "later", { retryAfterMs: 1 });
    agent.model.says(busy, busy, text("done"));
    const { completed } = await agent.activate();
    expect(completed).toMatchObject({ stopReason: StopReason.DONE, usage: { modelCalls: 1 } });
    expect(agent.model.asked).toHaveLength(3);
  });

  it("failed as recorded: its own kind and retry, the model as cause", async () => {
    await using agent = await ServedAgent.start(toolLoop);
    await agent.opened();
    agent.model.says(recorded(FailureKind.MODEL_INVALID_OUTPUT, Retry.NEVER));
    const { failure } = await agent.activate();
    expect(failure).toMatchObject({
      kind: FailureKind.MODEL_INVALID_OUTPUT,
      retry: Retry.NEVER,
      reason: "the engine is out of memory",
      causes: [{ boundary: Boundary.MODEL, kind: FailureKind.MODEL_INVALID_OUTPUT, rpc: generate }],
    });
  });

  it("answering garbage: no choice, and a finish reason that is unknown here (ALL-FAIL-006)", async () => {
    for (const said of [{ choices: [] }, { choices: [{ finishReason: 77 as FinishReason }] }]) {
      await using agent = await ServedAgent.start(toolLoop);
      await agent.opened();
      agent.model.says(said);
      const { failure } = await agent.activate();
      expect(failure).toMatchObject({
        kind: FailureKind.MODEL_INVALID_OUTPUT,
        retry: Retry.NEW_ATTEMPT,
        causes: [{ boundary: Boundary.MODEL, rpc: generate, delivery: Delivery.DELIVERED }],
      });
    }
  });

  it("no longer knowing the key: what it opened is lost", async () => {
    await using agent = await ServedAgent.start(toolLoop);
    await agent.opened();
    agent.model.says(new Refusal("CREDENTIALS", "unknown key"));
    expect((await agent.activate()).failure).toMatchObject({
      kind: FailureKind.SESSION_LOST,
      retry: Retry.NEW_ATTEMPT,
      causes: [{ boundary: Boundary.MODEL, code: Code.Unauthenticated }],
    });
  });

  it("keeps what was said and used before it failed, and the session takes nothing new (ALL-ORDER-004)", async () => {
    await using agent = await ServedAgent.start(toolLoop);
    await agent.opened();
    agent.model.says(
      toolCalls([add("c1")], { usage: { inputTokens: 7n, outputTokens: 3n } }),
      bareStatus(Code.Unavailable),
    );
    const { events } = await agent.activate();
    const last = events.at(-1)?.event;
    expect(last?.case === "failed" && last.value.usage).toMatchObject({
      inputTokens: 7n,
      modelCalls: 2,
      toolCalls: 1,
    });
    expect((await agent.activate({ activationIndex: 1 })).refused).toBe("SESSION_FAILED");
    expect((await agent.activate()).events).toEqual(events);
    const items = (await agent.transcript()).flatMap(({ record }) =>
      record.case === "item" ? [line(record.value)] : [],
    );
    expect(items).toEqual(["USER: go", "agent call c1 add", "result c1: 3"]);
    expect((await agent.close()).message).toMatchObject({ activations: 1, usage: { modelCalls: 2 } });
  });
});

group("An environment that fails a step", () => {
  it("is a failure whose cause is the environment, its own words first", async () => {
    await using agent = await ServedAgent.start(toolLoop);
    await agent.opened();
    agent.model.says(toolCalls([add("c1")]));
    agent.environment.script.step = async () => {
      throw recorded(FailureKind.STEP_FAILED, Retry.NEVER);
    };
    expect((await agent.activate()).failure).toMatchObject({
      kind: FailureKind.STEP_FAILED,
      retry: Retry.NEVER,
      agentId: "agent",
      causes: [{ boundary: Boundary.ENVIRONMENT, rpc: "touchstone.v1.EnvironmentService/Step" }],
    });
  });

  it("has lost the session: SESSION_LOST", async () => {
    for (const reason of ["SESSION_UNKNOWN", "SESSION_EXPIRED", "CREDENTIALS"] as const) {
      await using agent = await ServedAgent.start(toolLoop);
      await agent.opened();
      agent.model.says(toolCalls([add("c1")]));
      agent.environment.script.step = async () => {
        throw new Refusal(reason, "gone");
      };
      expect((await agent.activate()).failure).toMatchObject({
        kind: FailureKind.SESSION_LOST,
        retry: Retry.NEW_ATTEMPT,
        causes: [{ boundary: Boundary.ENVIRONMENT }],
      });
    }
  });

  it("whose answer was lost is asked again under the same name, and takes the step once (AGT-ACT-029)", async () => {
    await using agent = await ServedAgent.start(toolLoop);
    await agent.opened();
    const { step } = agent.environment.script;
    let lost = false;
    agent.environment.script.step = async (request, call) => {
      if (!lost) {
        lost = true;
        throw bareStatus(Code.Unavailable);
      }
      if (step === undefined) throw new Error("the fixture takes steps");
      return await step(request, call);
    };
    agent.model.says(toolCalls([add("c1")]), text("3"));
    const { completed } = await agent.activate();
    expect(completed).toMatchObject({ stopReason: StopReason.DONE, usage: { toolCalls: 1 } });
    expect(agent.steps.map(({ name }) => name.value)).toEqual(["s1/0/0", "s1/0/0"]);
  });
});

group("The agent server's own failures", () => {
  it("a crash of the harness: HARNESS_CRASHED without its words; other sessions go on (field-case-035)", async () => {
    const crashing = defineAgent({
      name: "crashing",
      version: "1",
      needsModel: false,
      options: z.strictObject({}),
      async activate({ input, say }) {
        if (input.length > 1) throw new Error("/srv/agents/secret.ts:12: undefined is not a function");
        say(userMessage("fine"));
        return { stopReason: StopReason.DONE };
      },
    });
    await using agent = await ServedAgent.start(crashing);
    await agent.opened();
    await agent.opened({ sessionId: "s2" });
    const { failure } = await agent.activate({ input: [userMessage("a"), userMessage("b")] });
    expect(failure).toMatchObject({
      kind: FailureKind.HARNESS_CRASHED,
      retry: Retry.NEVER,
      stage: Stage.ACTIVATE,
      agentId: "agent",
    });
    expect(failure?.reason).not.toContain("secret");
    expect((await agent.activate({ sessionId: "s2" })).completed).toBeDefined();
  });

  it("a passed timeout: TIMEOUT, with the cut model call told (AGT-ACT-024)", async () => {
    await using agent = await ServedAgent.start(toolLoop);
    agent.model.says((_request, call) => hang(call));
    await agent.opened();
    const turning = agent.activate({ timeout: { seconds: 1n, nanos: 0 } });
    await agent.model.peer.arrived("generate");
    agent.clock.advance(1000);
    const { failure, events } = await turning;
    expect(failure).toMatchObject({ kind: FailureKind.TIMEOUT, retry: Retry.NEW_ATTEMPT });
    expect(events.map(({ event }) => event.case)).toEqual(["accepted", "modelCall", "failed"]);
    expect(events[0]?.event.value).toMatchObject({ timeout: { seconds: 1n } });
    const last = events.at(-1)?.event;
    expect(last?.case === "failed" && last.value.usage?.modelCalls).toBe(1);
  });

  it("lies beyond the wall time where none is asked for", async () => {
    await using agent = await ServedAgent.start(toolLoop);
    await agent.opened({ budget: { wallTime: { seconds: 3600n, nanos: 0 } } });
    const { events } = await agent.activate();
    expect(events[0]?.event.value).toMatchObject({ timeout: { seconds: 3630n } });
  });

  it("output too large to be told ends the turn as such, and the work before it is told (ALL-SIZE-001)", async () => {
    await using agent = await ServedAgent.start(toolLoop);
    agent.model.says(toolCalls([{ ...add("c1"), argumentsJson: `{"a": 1, "b": "${"x".repeat(1 << 20)}"}` }]));
    await agent.opened();
    const { failure } = await agent.activate();
    expect(failure).toMatchObject({ kind: FailureKind.HARNESS_CRASHED, retry: Retry.NEVER });
    expect(failure?.reason).toContain("more than the");
    const kept = (await agent.transcript()).filter(({ record }) => record.case === "item");
    expect(kept.length).toBeGreaterThan(3);
  });
});
