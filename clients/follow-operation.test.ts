import { Code } from "@connectrpc/connect";
import type * as grpc from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import { type ActivateResponse, AgentSessionService, Delivery, ModelService } from "../gen/index.js";
import { ManualClock } from "../test/manual-clock.js";
import { agentSessionClient } from "./agent-session-client.js";
import { InstanceChangedError } from "./call-error.js";
import { BOTH_CHANNELS } from "./fixtures/both-channels.js";
import { allOf, errorOf } from "./fixtures/call-outcome.js";
import { type StreamEnd, type StreamScript, serveEvents } from "./fixtures/event-server.js";
import { refusal, serveGrpc, status } from "./fixtures/grpc-server.js";
import { modelClient } from "./model-client.js";

const { activate } = AgentSessionService.method;
const { streamGenerate } = ModelService.method;

const accepted = { sequence: 1n, event: { case: "accepted", value: {} } };
const item = (sequence: number) => ({
  sequence: BigInt(sequence),
  event: { case: "item", value: { itemId: `i-${sequence}` } },
});
const completed = (sequence: number) => ({
  sequence: BigInt(sequence),
  event: { case: "completed", value: { answerId: "a-1" } },
});
const heartbeat = { event: { case: "heartbeat", value: {} } };
const gapUntil = (sequence: number) => ({
  event: { case: "gap", value: { untilSequence: BigInt(sequence) } },
});

/** What an operation of five recorded events tells behind one of them. */
const rest = (after: bigint) => [accepted, item(2), item(3), item(4), completed(5)].slice(Number(after));
const whole = (after: bigint): StreamScript => ({ events: rest(after), end: "ok" });

const told = (events: readonly ActivateResponse[]) =>
  events.map(({ sequence, event }) => [Number(sequence), event.case]);
const ALL = [
  [1, "accepted"],
  [2, "item"],
  [3, "item"],
  [4, "item"],
  [5, "completed"],
];

/** Repeats at once: waits of a millisecond. */
const SOON = { firstDelayMs: 1, maxDelayMs: 1 };
const turn = { sessionId: "s", activationIndex: 0 };

describe.each(BOTH_CHANNELS)("followOperation over a %s channel", (_, open) => {
  it("tells the events in order, answers with the terminal one, and lets the peer end", async () => {
    await using server = await serveEvents(activate, () => ({
      events: [accepted, heartbeat, item(2), { event: { case: "delta", value: {} } }, completed(3)],
      end: "later",
    }));
    await using channel = open(server);
    const stream = agentSessionClient(channel).activate(turn);
    expect(told(await allOf(stream))).toEqual([
      [1, "accepted"],
      [0, "heartbeat"],
      [2, "item"],
      [0, "delta"],
      [3, "completed"],
    ]);
    expect(await stream.result()).toMatchObject({ case: "completed", value: { answerId: "a-1" } });
    expect(stream.lastSequence).toBe(3n);
    await server.closed(1);
    expect(server.closes).toEqual([0]);
  });

  it.each<[string, StreamEnd]>([
    ["ends well without a terminal event", "ok"],
    ["is reset", "reset"],
    ["loses its connection", "cut"],
    ["ends with a status of nobody's", { trailers: { "grpc-status": "14" } }],
    ["ends cancelled by somebody in between", { trailers: { "grpc-status": "1" } }],
  ])("ALL-EVT-008: resumes behind the last event when a stream %s", async (__, end) => {
    await using server = await serveEvents(activate, (call, after) =>
      call === 0 ? { events: [accepted, item(2)], end } : whole(after),
    );
    await using channel = open(server);
    const events = await allOf(agentSessionClient(channel, { repeat: SOON }).activate(turn));
    // What was on its way when a connection broke may be lost with it.
    const after = server.afters[1] ?? -1n;
    if (end === "cut" || end === "reset") expect([0n, 1n, 2n]).toContain(after);
    else expect(after).toBe(2n);
    expect(told(events)).toEqual(ALL);
  });

  it("tells each event once, also where a peer begins again from the start", async () => {
    await using server = await serveEvents(activate, (call) =>
      call === 0 ? { events: [accepted, item(2), item(3)], end: "ok" } : whole(0n),
    );
    await using channel = open(server);
    const events = await allOf(agentSessionClient(channel, { repeat: SOON }).activate(turn));
    expect(told(events)).toEqual(ALL);
    expect(server.afters).toEqual([0n, 3n]);
  });

  it("ALL-EVT-006: passes a gap on, and goes on behind it", async () => {
    await using server = await serveEvents(activate, (call) => {
      if (call === 0) return { events: [accepted], end: "ok" };
      if (call === 1) return { events: [gapUntil(3), item(4)], end: "ok" };
      return { events: [completed(5)], end: "ok" };
    });
    await using channel = open(server);
    const events = await allOf(agentSessionClient(channel, { repeat: SOON }).activate(turn));
    expect(told(events)).toEqual([
      [1, "accepted"],
      [0, "gap"],
      [4, "item"],
      [5, "completed"],
    ]);
    expect(server.afters).toEqual([0n, 1n, 4n]);
  });

  it("a hole in the events is a lost connection", async () => {
    await using server = await serveEvents(activate, (call, after) =>
      call === 0 ? { events: [accepted, item(3)], end: "hang" } : whole(after),
    );
    await using channel = open(server);
    const events = await allOf(agentSessionClient(channel, { repeat: SOON }).activate(turn));
    expect(told(events)).toEqual(ALL);
    expect(server.afters).toEqual([0n, 1n]);
    await server.closed(2);
  });

  it("an arm that it does not know is passed on, and is never the end", async () => {
    await using server = await serveEvents(activate, (call, after) =>
      call === 0 ? { events: [accepted, { sequence: 2n }], end: "ok" } : whole(after),
    );
    await using channel = open(server);
    const events = await allOf(agentSessionClient(channel, { repeat: SOON }).activate(turn));
    expect(told(events)).toEqual([[1, "accepted"], [2, undefined], ...ALL.slice(2)]);
  });

  it("field-case-010: takes a silent connection as lost, and leaves it", async () => {
    const clock = new ManualClock();
    await using server = await serveEvents(activate, (call, after) =>
      call === 0 ? { events: [accepted], end: "hang" } : whole(after),
    );
    await using channel = open(server);
    const options = { clock, random: () => 0, repeat: { firstDelayMs: 2, maxDelayMs: 2 } };
    const iterator = agentSessionClient(channel, options).activate(turn)[Symbol.asyncIterator]();
    await iterator.next();
    const second = iterator.next();
    await clock.timer(40_000);
    clock.advance(39_999);
    expect(server.afters.length).toBe(1);
    clock.advance(1);
    await clock.timer(1);
    clock.advance(1);
    expect((await second).value?.sequence).toBe(2n);
    await server.closed(1);
    expect(server.afters).toEqual([0n, 1n]);
  });

  it("a reader who takes its time is no silence of the peer", async () => {
    const clock = new ManualClock();
    await using server = await serveEvents(activate, (__, after) => whole(after));
    await using channel = open(server);
    const events: ActivateResponse[] = [];
    for await (const event of agentSessionClient(channel, { clock }).activate(turn)) {
      events.push(event);
      clock.advance(100_000);
    }
    expect(told(events)).toEqual(ALL);
    expect(server.afters).toEqual([0n]);
  });

  it("field-case-040: gives up as the policy says, and says why", async () => {
    await using server = await serveEvents(activate, (call) => ({
      events: call === 0 ? [accepted, heartbeat] : [heartbeat],
      end: "ok",
    }));
    await using channel = open(server);
    const client = agentSessionClient(channel, { repeat: { ...SOON, attempts: 3 } });
    const error = await errorOf(client.activate(turn).result());
    expect(error).toMatchObject({
      code: Code.Unavailable,
      delivery: Delivery.DELIVERED,
      attempts: 3,
      rpc: "touchstone.v1.AgentSessionService/Activate",
    });
    expect(error.message).toContain("expected the stream's terminal event, found its end");
    // The first connection told something new, and counts with those after it only from there.
    expect(server.afters.length).toBe(3);
  });

  it("goes on for as long as each connection tells something new", async () => {
    await using server = await serveEvents(activate, (call, after) => ({
      events: [call === 19 ? completed(20) : call === 0 ? accepted : item(Number(after) + 1)],
      end: "ok",
    }));
    await using channel = open(server);
    const client = agentSessionClient(channel, { repeat: { ...SOON, attempts: 2 } });
    const events = await allOf(client.activate(turn));
    expect(events.length).toBe(20);
  });

  it("a refusal ends it, unless it says when to come again; so does a recorded failure", async () => {
    const ends = [
      refusal(Code.ResourceExhausted, "CAPACITY", { retryAfterMs: 1 }),
      refusal(Code.FailedPrecondition, "OUT_OF_ORDER", { metadata: { expected_index: "3" } }),
      refusal(Code.Aborted, "OPERATION_FAILED"),
    ];
    const handler: grpc.handleServerStreamingCall<unknown, unknown> = (call) =>
      call.emit("error", ends.shift() ?? status(Code.Internal, "none"));
    await using server = await serveGrpc(AgentSessionService, { Activate: handler });
    await using channel = open(server);
    const client = agentSessionClient(channel, { repeat: SOON });
    const error = await errorOf(client.activate(turn).result());
    expect(error).toMatchObject({ reason: "OUT_OF_ORDER", metadata: { expected_index: "3" }, attempts: 2 });
    expect(await errorOf(client.activate(turn).result())).toMatchObject({ isRecordedFailure: true });
    expect(ends).toEqual([]);
  });

  it("R14: another instance behind a lost connection is told as such", async () => {
    await using server = await serveEvents(activate, (call, after) => ({
      events: call === 0 ? [accepted] : rest(after),
      end: "ok",
      headers: { "touchstone-instance": call === 0 ? "i-1" : "i-2" },
    }));
    await using channel = open(server);
    const client = agentSessionClient(channel, { repeat: SOON, expectInstance: "i-1" });
    const error = await errorOf(client.activate(turn).result());
    expect(error).toBeInstanceOf(InstanceChangedError);
    expect(server.afters.length).toBe(2);
  });

  it("ALL-LOST-002: leaving ends the call, not more", async () => {
    await using server = await serveEvents(activate, () => ({ events: [accepted], end: "hang" }));
    await using channel = open(server);
    const stream = agentSessionClient(channel).activate(turn);
    for await (const { event } of stream) {
      expect(event.case).toBe("accepted");
      break;
    }
    await server.closed(1);
    expect(server.closes).toEqual([8]);
    const error = await errorOf(stream.result());
    expect(error.message).toContain("its reader had left");
    expect(server.afters.length).toBe(1);
  });

  it("leaving while it waits for an event ends the wait", async () => {
    await using server = await serveEvents(activate, () => ({ events: [accepted], end: "hang" }));
    await using channel = open(server);
    const iterator = agentSessionClient(channel).activate(turn)[Symbol.asyncIterator]();
    await iterator.next();
    const waiting = iterator.next().catch((error: unknown) => error);
    await iterator.return?.();
    expect(await waiting).toMatchObject({ code: Code.Canceled, byCaller: true });
    await server.closed(1);
  });

  it("field-case-003: signal and deadline end it, told apart", async () => {
    const clock = new ManualClock();
    await using server = await serveEvents(activate, () => ({ events: [accepted], end: "hang" }));
    await using channel = open(server, { clock });
    const client = agentSessionClient(channel, { clock });
    const controller = new AbortController();
    const cancelled = client.activate(turn, { signal: controller.signal })[Symbol.asyncIterator]();
    await cancelled.next();
    controller.abort();
    expect((await errorOf(cancelled.next())).code).toBe(Code.Canceled);
    const late = client.activate(turn, { timeoutMs: 10_000 })[Symbol.asyncIterator]();
    await late.next();
    const error = errorOf(late.next());
    clock.advance(10_000);
    expect((await error).code).toBe(Code.DeadlineExceeded);
    expect(server.afters.length).toBe(2);
  });

  it("leaves a peer that does not end its stream behind the terminal event", async () => {
    const clock = new ManualClock();
    await using server = await serveEvents(activate, () => ({
      events: [accepted, completed(2)],
      end: "hang",
    }));
    await using channel = open(server);
    const client = agentSessionClient(channel, { clock });
    expect((await client.activate(turn).result()).case).toBe("completed");
    clock.advance(1_000);
    await server.closed(1);
    expect(server.closes).toEqual([8]);
  });

  it("resumes where the caller says that it was", async () => {
    await using server = await serveEvents(activate, (__, after) => whole(after));
    await using channel = open(server);
    const stream = agentSessionClient(channel).activate({ ...turn, afterSequence: 3n });
    expect(told(await allOf(stream))).toEqual(ALL.slice(3));
    expect(server.afters).toEqual([3n]);
  });

  it("ALL-REPEAT-020: a streamed call that has begun is never sent again", async () => {
    for (const end of ["reset", "ok"] as const) {
      await using server = await serveEvents(streamGenerate, () => ({
        events: [{ event: { case: "started", value: { callId: "c-1" } } }],
        end,
      }));
      await using channel = open(server);
      const stream = modelClient(channel, { repeat: SOON }).streamGenerate({ request: {} });
      const error = await errorOf(stream.result());
      expect(error).toMatchObject({ isUnknown: true, attempts: 1 });
      expect(server.afters.length).toBe(1);
    }
  });
});
