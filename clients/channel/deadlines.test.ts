import { create } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import type * as grpc from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import { Delivery, EnvironmentService } from "../../gen/index.js";
import { ManualClock } from "../../test/manual-clock.js";
import { BOTH_CHANNELS } from "../fixtures/both-channels.js";
import { errorOf, gate } from "../fixtures/call-outcome.js";
import { serveGrpc } from "../fixtures/grpc-server.js";
import { serveHttp2 } from "../fixtures/http2-server.js";

const { describe: describeRpc, watchSteps } = EnvironmentService.method;
const request = create(describeRpc.input);

/** A server that takes calls and never answers, whatever the deadline says. */
async function serveSilence(): Promise<{
  readonly url: string;
  readonly arrived: Promise<string>;
  readonly cancelled: Promise<void>;
  [Symbol.asyncDispose](): PromiseLike<void>;
}> {
  const arrived = gate<string>();
  const cancelled = gate();
  const server = await serveHttp2(({ stream, headers }) => {
    stream.on("close", () => cancelled.open());
    arrived.open(String(headers["grpc-timeout"]));
  });
  return { ...server, arrived: arrived.opened, cancelled: cancelled.opened };
}

describe.each(BOTH_CHANNELS)("%s channel: deadlines and cancellation", (_, open) => {
  it("field-case-046, field-case-003a: a deadline ends the wait, whatever server and signal do", async () => {
    const clock = new ManualClock();
    await using server = await serveSilence();
    await using channel = open(server, { clock });
    const { signal } = new AbortController();
    const call = errorOf(channel.unary(describeRpc, request, { timeoutMs: 1000, signal }));
    expect(await server.arrived).toBe("1000m");
    clock.advance(1000);
    const error = await call;
    expect(error).toMatchObject({
      code: Code.DeadlineExceeded,
      delivery: Delivery.POSSIBLY_DELIVERED,
      byCaller: true,
      isUnknown: true,
    });
    await server.cancelled;
  });

  it("field-case-046: ends a stream at its deadline, after what had come", async () => {
    const clock = new ManualClock();
    const two: grpc.handleServerStreamingCall<unknown, unknown> = (call) => {
      call.write(create(watchSteps.output));
      call.write(create(watchSteps.output));
    };
    await using server = await serveGrpc(EnvironmentService, { WatchSteps: two });
    await using channel = open(server, { clock });
    const stream = channel.serverStream(watchSteps, create(watchSteps.input), { timeoutMs: 500 });
    const iterator = stream[Symbol.asyncIterator]();
    await iterator.next();
    await iterator.next();
    const third = errorOf(iterator.next());
    clock.advance(500);
    expect(await third).toMatchObject({ code: Code.DeadlineExceeded, delivery: Delivery.DELIVERED });
  });

  it("field-case-003b: a caller that aborts is CANCELLED, and the server is told", async () => {
    await using server = await serveSilence();
    await using channel = open(server);
    const controller = new AbortController();
    const { signal } = controller;
    const call = errorOf(channel.unary(describeRpc, request, { signal, timeoutMs: 10_000 }));
    await server.arrived;
    const reason = new Error("no longer needed");
    controller.abort(reason);
    expect(await call).toMatchObject({ code: Code.Canceled, byCaller: true, cause: reason });
    await server.cancelled;
  });

  it("field-case-003c: the platform's timeout signal is DEADLINE_EXCEEDED", async () => {
    await using server = await serveSilence();
    await using channel = open(server);
    const call = channel.unary(describeRpc, request, { signal: AbortSignal.timeout(50) });
    expect((await errorOf(call)).code).toBe(Code.DeadlineExceeded);
  });

  it("sends nothing when it is cancelled or too late before it begins", async () => {
    await using server = await serveGrpc(EnvironmentService, { Describe: () => {} });
    await using channel = open(server);
    const aborted = await errorOf(channel.unary(describeRpc, request, { signal: AbortSignal.abort() }));
    expect(aborted).toMatchObject({ code: Code.Canceled, delivery: Delivery.NOT_SENT });
    for (const timeoutMs of [0, -5, Number.NaN]) {
      const late = await errorOf(channel.unary(describeRpc, request, { timeoutMs }));
      expect(late).toMatchObject({ code: Code.DeadlineExceeded, delivery: Delivery.NOT_SENT });
    }
    expect(server.calls).toEqual([]);
  });

  it("leaves no call at the server that was cancelled in the turn in which it began", async () => {
    const cancelled = gate();
    let first = true;
    const handler: grpc.handleUnaryCall<unknown, unknown> = (call, callback) => {
      if (!call.metadata.get("touchstone-key").includes("left")) {
        callback(null, create(describeRpc.output));
        return;
      }
      first = false;
      call.on("cancelled", () => cancelled.open());
    };
    await using server = await serveGrpc(EnvironmentService, { Describe: handler });
    await using channel = open(server);
    await channel.unary(describeRpc, request);
    const controller = new AbortController();
    const left = errorOf(
      channel.unary(describeRpc, request, {
        signal: controller.signal,
        headers: { "touchstone-key": "left" },
      }),
    );
    controller.abort();
    expect((await left).code).toBe(Code.Canceled);
    // What was sent before this call has arrived before it.
    await channel.unary(describeRpc, request);
    if (!first) await cancelled.opened;
  });

  it("takes its timer back when the answer has come", async () => {
    const clock = new ManualClock();
    const handler: grpc.handleUnaryCall<unknown, unknown> = (__, callback) =>
      callback(null, create(describeRpc.output));
    await using server = await serveGrpc(EnvironmentService, { Describe: handler });
    await using channel = open(server, { clock });
    await channel.unary(describeRpc, request, { timeoutMs: 123_456 });
    expect(clock.due()).not.toContain(123_456);
  });

  it("a call without a deadline bears no grpc-timeout; Infinity is none", async () => {
    for (const options of [{}, { timeoutMs: Number.POSITIVE_INFINITY }]) {
      await using server = await serveSilence();
      await using channel = open(server);
      const call = errorOf(channel.unary(describeRpc, request, options));
      expect(await server.arrived).toBe("undefined");
      await channel.close();
      expect(await call).toMatchObject({ code: Code.Unavailable, delivery: Delivery.POSSIBLY_DELIVERED });
    }
  });
});
