import { create } from "@bufbuild/protobuf";
import { expect, describe as group, it } from "vitest";
import { z } from "zod";
import { ClosedBy, FailureKind, StopReason, ToolCallSchema } from "../../gen/index.js";
import { hang } from "../../test/scripted-peer.js";
import { userMessage } from "../runtime/items.js";
import { defineAgent } from "./define-agent.js";
import { add, text, toolCalls } from "./fixtures/scripted-model.js";
import { line, method, ServedAgent, user } from "./fixtures/served-agent.js";
import { noop } from "./harnesses/noop.js";
import { toolLoop } from "./harnesses/tool-loop.js";

/** A tool-loop whose model has called a tool once and now thinks until it is cut. */
async function thinking(): Promise<{ agent: ServedAgent; turning: ReturnType<ServedAgent["activate"]> }> {
  const agent = await ServedAgent.start(toolLoop);
  agent.model.says(toolCalls([add("c1")]), (_request, call) => hang(call));
  await agent.opened();
  const turning = agent.activate();
  await agent.model.peer.arrived("generate", 2);
  return { agent, turning };
}

const interrupt = (agent: ServedAgent, activationIndex = 0) =>
  agent.client.unary(method.interrupt, { sessionId: "s1", activationIndex });

group("Activate is an operation (R2, R3, R7, R17)", () => {
  it("is done once for 20 callers at once, and replayed to who comes later", async () => {
    await using agent = await ServedAgent.start(toolLoop);
    agent.model.says(toolCalls([add("c1")]), text("3"));
    await agent.opened();
    const turns = await Promise.all(Array.from({ length: 20 }, () => agent.activate()));
    for (const { events } of turns) expect(events).toEqual(turns[0]?.events);
    expect(agent.model.asked).toHaveLength(2);
    expect(agent.environment.count("step")).toBe(1);
    expect((await agent.activate()).events).toEqual(turns[0]?.events);
    expect((await agent.activate({ input: [user("other")] })).refused).toBe("OPERATION_CONFLICT");
  });

  it("resumes behind an event; deltas and heartbeats carry no sequence", async () => {
    await using agent = await ServedAgent.start(toolLoop);
    agent.model.says(toolCalls([add("c1")]), text("3"));
    await agent.opened();
    const { events } = await agent.activate();
    const resumed = await agent.activate({ afterSequence: 3n });
    expect(resumed.events).toEqual(events.slice(3));
  });

  it("goes on without its caller", async () => {
    await using agent = await ServedAgent.start(toolLoop);
    let answer: () => void = () => {};
    agent.model.says(() => new Promise((resolve) => (answer = () => resolve(text("42")))));
    await agent.opened();
    const left = agent.client.stream(
      method.activate,
      { sessionId: "s1", input: [user("go")] },
      { onCall: (call) => void agent.model.peer.arrived("generate").then(() => call.cancel()) },
    );
    expect((await left).error?.code).toBe("CANCELLED");
    await agent.settle();
    answer();
    expect((await agent.activate()).completed?.stopReason).toBe(StopReason.DONE);
    expect(agent.model.asked).toHaveLength(1);
  });

  it("is refused out of order, and says what comes next", async () => {
    await using agent = await ServedAgent.start(noop);
    await agent.opened();
    const { error } = await agent.client.stream(method.activate, { sessionId: "s1", activationIndex: 1 });
    expect(error).toMatchObject({ reason: "OUT_OF_ORDER", metadata: { expected_index: "0" } });
    expect((await agent.activate({ sessionId: "never" })).refused).toBe("SESSION_UNKNOWN");
  });

  it("waits for Open where it overtakes it, and keeps to the budget that Open set", async () => {
    await using agent = await ServedAgent.start(toolLoop);
    let listed: () => void = () => {};
    agent.environment.script.listTools = () => new Promise((resolve) => (listed = () => resolve({})));
    agent.model.says(toolCalls([add("c")]));
    const opening = agent.open({ budget: { maxTurns: 1 } });
    await agent.environment.arrived("listTools");
    const turning = agent.activate();
    await agent.settle();
    listed();
    await opening;
    expect((await turning).completed).toMatchObject({
      stopReason: StopReason.MAX_TURNS,
      usage: { modelCalls: 1 },
    });
  });

  it("leaves no timer behind", async () => {
    await using agent = await ServedAgent.start(toolLoop);
    agent.model.says(toolCalls([add("c1")]), text("3"));
    await agent.opened({ budget: { wallTime: { seconds: 60n, nanos: 0 } } });
    const { timers } = agent.clock;
    await agent.activate();
    await agent.settle();
    expect(agent.clock.timers).toBe(timers);
  });

  it("tells a heartbeat in the silence of a long model call", async () => {
    const { agent, turning } = await thinking();
    await using _ = agent;
    await agent.settle();
    agent.clock.advance(10_000);
    await agent.settle();
    await interrupt(agent);
    const { events } = await turning;
    expect(events.map(({ event }) => event.case)).toContain("heartbeat");
    expect(
      events.filter(({ event }) => event.case === "heartbeat").map(({ sequence }) => sequence),
    ).toContain(0n);
  });
});

group("Interrupt", () => {
  it("ends the turn with INTERRUPTED and the work so far; the session goes on (AGT-INTR-001, -002)", async () => {
    const { agent, turning } = await thinking();
    await using _ = agent;
    expect((await interrupt(agent)).message?.alreadyEnded).toBe(false);
    const { completed } = await turning;
    expect(completed?.stopReason).toBe(StopReason.INTERRUPTED);
    expect(completed?.output.map(line)).toEqual(["agent call c1 add", "result c1: 3"]);
    agent.model.says(text("on"));
    const next = await agent.activate({ activationIndex: 1, input: [user("go on")] });
    expect(next.completed?.stopReason).toBe(StopReason.DONE);
    expect(agent.model.asked.at(-1)?.prompt?.items.map(line)).toEqual([
      ...["USER: go", "agent call c1 add", "result c1: 3", "USER: go on"],
    ]);
  });

  it("changes nothing of a turn that has ended (AGT-INTR-003), and is refused for one that never began", async () => {
    await using agent = await ServedAgent.start(noop);
    await agent.opened();
    expect((await interrupt(agent)).error).toMatchObject({
      reason: "OUT_OF_ORDER",
      metadata: { expected_index: "0" },
    });
    const { events } = await agent.activate();
    expect((await interrupt(agent)).message?.alreadyEnded).toBe(true);
    expect((await agent.activate()).events).toEqual(events);
  });

  it("is taken by many at once", async () => {
    const { agent, turning } = await thinking();
    await using _ = agent;
    const answers = await Promise.all(Array.from({ length: 8 }, () => interrupt(agent)));
    expect(answers.every(({ error }) => error === undefined)).toBe(true);
    expect((await turning).completed?.stopReason).toBe(StopReason.INTERRUPTED);
  });
});

group("ReadTranscript", () => {
  it("gives everything in order, while a turn runs and after Close (AGT-READ-001, -002)", async () => {
    const { agent, turning } = await thinking();
    await using _ = agent;
    const during = (await agent.transcript()).map(({ record }) => record.case);
    expect(during).toEqual(["begun", "item", "modelCall", "item", "item"]);
    await interrupt(agent);
    const { events } = await turning;
    await agent.close();
    const records = await agent.transcript();
    expect(records.map(({ sequence }) => sequence)).toEqual(records.map((_record, i) => BigInt(i + 1)));
    expect(records.map(({ record }) => record.case)).toEqual([...during, "modelCall", "ended"]);
    const told = events.flatMap(({ event }) => (event.case === "item" ? [event.value] : []));
    const kept = records.flatMap(({ record }) => (record.case === "item" ? [record.value] : []));
    expect(kept.slice(1)).toEqual(told);
    expect(records.at(-1)?.record.value).toMatchObject({
      stopReason: StopReason.INTERRUPTED,
      activations: 1,
    });
    expect(await agent.transcript(5n)).toEqual(records.slice(5));
  });

  it("renews the lease, as KeepAlive and any served request do (ALL-LEASE-006)", async () => {
    await using agent = await ServedAgent.start(noop);
    await agent.opened({ lease: { seconds: 10n, nanos: 0 } });
    agent.clock.advance(9000);
    await agent.transcript();
    agent.clock.advance(9000);
    expect((await agent.client.unary(method.keepAlive, { sessionId: "s1" })).message?.lease).toMatchObject({
      duration: { seconds: 10n },
    });
    agent.clock.advance(9999);
    expect((await agent.activate()).completed).toBeDefined();
    agent.clock.advance(10_000);
    expect((await agent.activate({ activationIndex: 1 })).refused).toBe("SESSION_EXPIRED");
    expect((await agent.close()).message?.receipt).toMatchObject({
      closedBy: ClosedBy.LEASE,
      alreadyClosed: true,
    });
  });
});

group("Close", () => {
  it("cancels the turn, and no credential is used afterwards (ALL-CLOSE-016, AGT-CLOS-005)", async () => {
    const { agent, turning } = await thinking();
    await using _ = agent;
    const closed = await agent.close();
    expect(closed.message).toMatchObject({
      receipt: { cleanupConfirmed: true, alreadyClosed: false },
      activations: 1,
      usage: { modelCalls: 2, toolCalls: 1 },
    });
    const { failure, events } = await turning;
    expect(failure?.kind).toBe(FailureKind.CANCELLED);
    expect(events.at(-1)?.event.case).toBe("failed");
    const before = agent.seen.length;
    await agent.settle();
    expect(agent.seen).toHaveLength(before);
    expect((await agent.activate({ activationIndex: 1 })).refused).toBe("SESSION_CLOSED");
    expect((await agent.close()).message).toMatchObject({
      ...closed.message,
      receipt: { ...closed.message?.receipt, alreadyClosed: true },
    });
  });

  it("is refused to another episode, and harmless for an id that was never opened", async () => {
    await using agent = await ServedAgent.start(noop);
    await agent.opened();
    const foreign = await agent.client.unary(method.close, {
      sessionId: "s1",
      episodeId: { rolloutId: "other" },
    });
    expect(foreign.error?.reason).toBe("EPISODE_MISMATCH");
    expect((await agent.activate()).completed).toBeDefined();
    expect((await agent.close("never")).message).toMatchObject({
      receipt: { neverOpened: true, cleanupConfirmed: true },
      activations: 0,
      transcriptRecords: 0n,
    });
    expect((await agent.open({ sessionId: "never" })).error?.reason).toBe("SESSION_CLOSED");
  });

  it("ends an Open that is still trying its accesses", async () => {
    await using agent = await ServedAgent.start(toolLoop);
    agent.environment.script.listTools = (_request, call) => hang(call);
    const opening = agent.open();
    await agent.environment.arrived("listTools");
    expect((await agent.close()).message?.receipt?.cleanupConfirmed).toBe(true);
    expect((await opening).error?.failure?.kind).toBe(FailureKind.CANCELLED);
  });

  it("comes too late for what a harness left running: it is not heard and reaches no peer (field-case-001)", async () => {
    let late: () => Promise<unknown> = async () => undefined;
    const leaving = defineAgent({
      name: "leaving",
      version: "1",
      needsModel: true,
      options: z.strictObject({}),
      async activate(turn) {
        late = async () => {
          turn.say(userMessage("late"));
          const asked = await turn.generate({ items: [userMessage("late")] });
          return [asked, await turn.callTool(create(ToolCallSchema, add("c9")))];
        };
        return { stopReason: StopReason.DONE };
      },
    });
    await using agent = await ServedAgent.start(leaving);
    await agent.opened();
    const { events, completed } = await agent.activate();
    expect(await late()).toEqual([{ stop: StopReason.DONE }, { stop: StopReason.DONE }]);
    expect(agent.seen.map(({ rpc }) => rpc)).toEqual(["listTools"]);
    expect(completed?.output).toEqual([]);
    expect((await agent.activate()).events).toEqual(events);
    expect((await agent.transcript()).map(({ record }) => record.case)).toEqual(["begun", "item", "ended"]);
  });
});

group("Drain (R18)", () => {
  it("refuses new sessions, serves the held one to its end", async () => {
    const { agent, turning } = await thinking();
    const closing = agent.server.close({ drainTimeoutMs: 60_000 });
    await agent.settle();
    const refused = await agent.open({ sessionId: "s2" });
    expect(refused.error).toMatchObject({ code: "UNAVAILABLE", reason: "DRAINING" });
    expect(refused.error?.retryAfterMs).toBeGreaterThan(0);
    await interrupt(agent);
    expect((await turning).completed?.stopReason).toBe(StopReason.INTERRUPTED);
    await agent.close();
    agent.clock.advance(100);
    await closing;
    await agent[Symbol.asyncDispose]();
  });
});
