import { create, toBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import type * as grpc from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import { Delivery, EnvironmentService, ModelService, type StepStreamRequest } from "../gen/index.js";
import { ManualClock } from "../test/manual-clock.js";
import { InstanceChangedError } from "./call-error.js";
import type { CallInfo } from "./channel.js";
import { createClient } from "./client.js";
import { BOTH_CHANNELS } from "./fixtures/both-channels.js";
import { allOf, errorOf, gate } from "./fixtures/call-outcome.js";
import { metadata, refusal, serveGrpc } from "./fixtures/grpc-server.js";
import { answer, type ReceivedCall, serveHttp2 } from "./fixtures/http2-server.js";

const { describe: describeRpc, step, watchSteps } = EnvironmentService.method;
type Unary = grpc.handleUnaryCall<unknown, unknown>;

/** Repeats at once: waits of a millisecond. */
const SOON = { firstDelayMs: 1, maxDelayMs: 1 };

/** A server that counts a step, and resets the stream of the first call after it has counted. */
function countingServer(answers: (call: ReceivedCall) => void) {
  const counted = new Set<string>();
  let calls = 0;
  const server = serveHttp2((call) => {
    calls += 1;
    counted.add(call.body.toString("hex"));
    if (calls === 1) call.stream.close(2);
    else answers(call);
  });
  return { server, applied: () => counted.size, calls: () => calls };
}

describe.each(BOTH_CHANNELS)("createClient over a %s channel", (_, open) => {
  it("field-case-036: a step that may have been delivered is repeated under its own name", async () => {
    const counting = countingServer(({ stream }) =>
      answer(stream, [toBinary(step.output, create(step.output, { stepIndex: 4 }))]),
    );
    await using server = await counting.server;
    await using channel = open(server);
    const client = createClient(EnvironmentService, channel, { repeat: SOON });
    const response = await client.step({ sessionId: "s", name: { case: "stepIndex", value: 4 } });
    expect(response.stepIndex).toBe(4);
    // The same bytes twice: the server's ledger makes one step of them.
    expect([counting.calls(), counting.applied()]).toEqual([2, 1]);
  });

  it("ALL-REPEAT-020: a Generate that may have been delivered is not sent again", async () => {
    const counting = countingServer(({ stream }) => answer(stream, [new Uint8Array(0)]));
    await using server = await counting.server;
    await using channel = open(server);
    const client = createClient(ModelService, channel, { repeat: SOON });
    const error = await errorOf(client.generate({}));
    expect(error).toMatchObject({ delivery: Delivery.POSSIBLY_DELIVERED, attempts: 1, isUnknown: true });
    const streamed = client.streamGenerate({})[Symbol.asyncIterator]();
    await streamed.next();
    expect(counting.calls()).toBe(2);
  });

  it("E6: obeys a refusal that says when to come again", async () => {
    const clock = new ManualClock();
    let calls = 0;
    const handler: Unary = (__, callback) => {
      calls += 1;
      if (calls < 3) callback(refusal(Code.FailedPrecondition, "SESSION_BUSY", { retryAfterMs: 700 }));
      else callback(null, create(step.output, { stepIndex: 4 }));
    };
    await using server = await serveGrpc(EnvironmentService, { Step: handler });
    await using channel = open(server);
    const client = createClient(EnvironmentService, channel, { clock, random: () => 0 });
    const call = client.step({ sessionId: "s" });
    for (let attempt = 1; attempt < 3; attempt++) {
      await clock.timer(700);
      expect(clock.due()).toEqual([700]);
      clock.advance(700);
    }
    expect((await call).stepIndex).toBe(4);
  });

  it("one deadline bounds all attempts, and each is told what is left", async () => {
    const clock = new ManualClock();
    const left: unknown[] = [];
    await using server = await serveHttp2(({ stream, headers }) => {
      left.push(headers["grpc-timeout"]);
      answer(stream, [], { "grpc-status": "14" });
    });
    await using channel = open(server, { clock });
    const client = createClient(EnvironmentService, channel, {
      clock,
      random: () => 1,
      repeat: { firstDelayMs: 400, maxDelayMs: 400 },
      timeoutMs: 1_000,
    });
    const call = errorOf(client.describe({}));
    for (let attempt = 1; attempt < 3; attempt++) {
      await clock.timer(400);
      clock.advance(400);
    }
    expect((await call).attempts).toBe(3);
    expect(left).toEqual(["1000m", "600m", "200m"]);
  });

  it("ALL-SCOPE-004: its headers are on every call, the call's own beside them", async () => {
    const seen: unknown[] = [];
    const handler: Unary = (call, callback) => {
      seen.push(["touchstone-key", "authorization", "trace"].map((name) => call.metadata.get(name)[0]));
      callback(null, create(describeRpc.output));
    };
    await using server = await serveGrpc(EnvironmentService, { Describe: handler });
    await using channel = open(server);
    const headers = { "touchstone-key": "e-1", authorization: "Bearer t" };
    const client = createClient(EnvironmentService, channel, { headers });
    await client.describe({});
    await client.describe({}, { headers: { trace: "x", authorization: "Bearer u" } });
    expect(seen).toEqual([
      ["e-1", "Bearer t", undefined],
      ["e-1", "Bearer u", "x"],
    ]);
  });

  it("R14: tells which instance answered, and when it is another one, answers and refusals alike", async () => {
    let instance = "i-1";
    const describeHandler: Unary = (call, callback) => {
      call.sendMetadata(metadata({ "touchstone-instance": instance }));
      callback(null, create(describeRpc.output));
    };
    const stepHandler: Unary = (call, callback) => {
      call.sendMetadata(metadata({ "touchstone-instance": instance }));
      callback(refusal(Code.NotFound, "SESSION_UNKNOWN"));
    };
    const watchHandler: grpc.handleServerStreamingCall<unknown, unknown> = (call) => {
      call.sendMetadata(metadata({ "touchstone-instance": instance }));
      call.write(create(watchSteps.output));
      call.on("cancelled", () => left.open());
    };
    const left = gate();
    const handlers = { Describe: describeHandler, Step: stepHandler, WatchSteps: watchHandler };
    await using server = await serveGrpc(EnvironmentService, handlers);
    await using channel = open(server);
    const told: string[] = [];
    const client = createClient(EnvironmentService, channel, {
      onInstance: (id) => told.push(id),
      expectInstance: "i-1",
    });
    await client.describe({});
    expect((await errorOf(client.step({}))).reason).toBe("SESSION_UNKNOWN");
    instance = "i-2";
    for (const call of [
      () => client.describe({}),
      () => client.step({}),
      () => allOf(client.watchSteps({})),
    ]) {
      const error = await errorOf(call());
      expect(error).toBeInstanceOf(InstanceChangedError);
      expect(error).toMatchObject({
        expected: "i-1",
        found: "i-2",
        delivery: Delivery.DELIVERED,
        attempts: 1,
      });
    }
    await left.opened;
    expect(told).toEqual(["i-1", "i-1", "i-2", "i-2", "i-2"]);
  });

  it("repeats a stream until its first answer, and no further", async () => {
    let calls = 0;
    const handler: grpc.handleServerStreamingCall<unknown, unknown> = (call) => {
      calls += 1;
      if (calls === 2) call.write(create(watchSteps.output));
      call.emit("error", { code: Code.Unavailable, details: "lost" });
    };
    await using server = await serveGrpc(EnvironmentService, { WatchSteps: handler });
    await using channel = open(server);
    const client = createClient(EnvironmentService, channel, { repeat: SOON });
    const iterator = client.watchSteps({})[Symbol.asyncIterator]();
    expect((await iterator.next()).done).toBe(false);
    expect(await errorOf(iterator.next())).toMatchObject({
      code: Code.Unavailable,
      delivery: Delivery.DELIVERED,
    });
    expect(calls).toBe(2);
  });

  it("a reader that leaves ends the repeats before the first answer", async () => {
    const clock = new ManualClock();
    const handler: grpc.handleServerStreamingCall<unknown, unknown> = (call) =>
      call.emit("error", { code: Code.Unavailable, details: "lost" });
    await using server = await serveGrpc(EnvironmentService, { WatchSteps: handler });
    await using channel = open(server);
    const client = createClient(EnvironmentService, channel, { clock, random: () => 0 });
    const iterator = client.watchSteps({})[Symbol.asyncIterator]();
    await clock.timer(50);
    await iterator.return?.();
    expect((await iterator.next()).done).toBe(true);
    expect(clock.due()).toEqual([]);
    expect(server.calls).toEqual(["WatchSteps"]);
  });

  it("gives streams of requests as they are, once", async () => {
    const count: grpc.handleClientStreamingCall<unknown, unknown> = (call, callback) => {
      let scored = 0n;
      call.on("data", () => {
        scored += 1n;
      });
      call.on("end", () =>
        callback(null, { ...create(EnvironmentService.method.aggregateMetrics.output), scored }),
      );
    };
    const echo: grpc.handleBidiStreamingCall<StepStreamRequest, unknown> = (call) => {
      call.on("data", ({ frame }) =>
        call.write(create(EnvironmentService.method.stepStream.output, { frame })),
      );
      call.on("end", () => call.end());
    };
    await using server = await serveGrpc(EnvironmentService, { AggregateMetrics: count, StepStream: echo });
    await using channel = open(server);
    const client = createClient(EnvironmentService, channel);
    async function* parts() {
      yield { episodes: [] };
      yield { episodes: [] };
    }
    async function* frames() {
      yield { frame: 1n };
      yield { frame: 2n };
    }
    let info: CallInfo | undefined;
    const onInfo = (told: CallInfo) => {
      info = told;
    };
    expect((await client.aggregateMetrics(parts(), { onInfo })).scored).toBe(2n);
    expect(info?.headers.names()).toContain("content-type");
    expect((await allOf(client.stepStream(frames()))).map(({ frame }) => frame)).toEqual([1n, 2n]);
  });
});
