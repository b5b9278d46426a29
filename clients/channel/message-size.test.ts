import { create } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import type * as grpc from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import { Delivery, EnvironmentService, type GetTaskRequest } from "../../gen/index.js";
import { BOTH_CHANNELS } from "../fixtures/both-channels.js";
import { errorOf } from "../fixtures/call-outcome.js";
import { serveGrpc } from "../fixtures/grpc-server.js";

const { describe: describeRpc, getTask, watchSteps } = EnvironmentService.method;
const LIMIT = 4 * 1024 * 1024;
/** Bytes that a text of this length takes beside itself: tag and length. */
const OVERHEAD = 5;

/** Answers with `environment` of as many bytes as the metadata asks. */
const ofSize: grpc.handleUnaryCall<unknown, unknown> = (call, callback) => {
  const bytes = Number(call.metadata.get("touchstone-key")[0]);
  callback(null, create(describeRpc.output, { environment: "x".repeat(bytes - OVERHEAD) }));
};

describe.each(BOTH_CHANNELS)("%s channel: sizes", (_, open) => {
  it("field-case-062: takes an answer of 4 MiB, refuses one of a byte more, and goes on", async () => {
    await using server = await serveGrpc(EnvironmentService, { Describe: ofSize });
    await using channel = open(server);
    const ask = (bytes: number) =>
      channel.unary(describeRpc, create(describeRpc.input), { headers: { "touchstone-key": String(bytes) } });
    const { message } = await ask(LIMIT);
    expect(message.environment.length).toBe(LIMIT - OVERHEAD);
    const error = await errorOf(ask(LIMIT + 1));
    expect(error).toMatchObject({
      code: Code.ResourceExhausted,
      delivery: Delivery.DELIVERED,
      byCaller: true,
      isUnknown: true,
    });
    expect(error.message).toContain(`at most ${LIMIT} bytes, found one of ${LIMIT + 1} bytes`);
    expect((await ask(100)).message.environment.length).toBe(95);
  });

  it("field-case-062: refuses a request that is too large by itself", async () => {
    await using server = await serveGrpc(EnvironmentService, { GetTask: () => {} });
    await using channel = open(server);
    const request = create(getTask.input, { taskId: { id: "x".repeat(6 * 1024 * 1024) } });
    const error = await errorOf(channel.unary(getTask, request));
    expect(error).toMatchObject({
      code: Code.ResourceExhausted,
      delivery: Delivery.NOT_SENT,
      byCaller: true,
    });
    expect(server.calls).toEqual([]);
  });

  it("takes more where both sides declare it, and tells the peer", async () => {
    let received: { readonly length: number; readonly told: unknown } | undefined;
    const handler: grpc.handleUnaryCall<GetTaskRequest, unknown> = (call, callback) => {
      const { taskId } = call.request;
      received = { length: taskId?.id.length ?? 0, told: call.metadata.get("touchstone-max-message")[0] };
      callback(null, create(getTask.output, { task: { ...(taskId === undefined ? {} : { taskId }) } }));
    };
    await using server = await serveGrpc(EnvironmentService, { GetTask: handler });
    await using channel = open(server, { maxMessageBytes: 16 * 1024 * 1024 });
    const id = "x".repeat(10 * 1024 * 1024);
    const { message } = await channel.unary(getTask, create(getTask.input, { taskId: { id } }));
    expect(message.task?.taskId?.id).toBe(id);
    expect(received).toEqual({ length: id.length, told: String(16 * 1024 * 1024) });
  });

  it("ends a stream at a message that is too large, after those before it", async () => {
    const handler: grpc.handleServerStreamingCall<unknown, unknown> = (call) => {
      for (const size of [10, 5_000_000]) {
        const response = { answerId: "x".repeat(size) };
        call.write(create(watchSteps.output, { event: { case: "step", value: { response } } }));
      }
      call.end();
    };
    await using server = await serveGrpc(EnvironmentService, { WatchSteps: handler });
    await using channel = open(server);
    const iterator = channel.serverStream(watchSteps, create(watchSteps.input))[Symbol.asyncIterator]();
    expect((await iterator.next()).done).toBe(false);
    expect((await errorOf(iterator.next())).code).toBe(Code.ResourceExhausted);
    expect((await iterator.next()).done).toBe(true);
  });

  it("refuses a limit that is none", () => {
    expect(() => open({ url: "http://127.0.0.1:1" }, { maxMessageBytes: 0 })).toThrow("found 0");
  });
});
