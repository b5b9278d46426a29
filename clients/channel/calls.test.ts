import { create } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import type * as grpc from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import {
  Delivery,
  EnvironmentService,
  type SeedRequest,
  type StepStreamRequest,
  StepStreamRequestSchema,
  WatchStepsResponseSchema,
} from "../../gen/index.js";
import { deliveryOf, instanceOf } from "../channel.js";
import { BOTH_CHANNELS } from "../fixtures/both-channels.js";
import { allOf, errorOf, gate } from "../fixtures/call-outcome.js";
import { metadata, serveGrpc } from "../fixtures/grpc-server.js";

const { describe: describeRpc, seed, watchSteps, stepStream, aggregateMetrics } = EnvironmentService.method;
type Unary = grpc.handleUnaryCall<unknown, unknown>;
type Streaming = grpc.handleServerStreamingCall<unknown, unknown>;

const stepEvent = (sequence: number) =>
  create(WatchStepsResponseSchema, {
    event: { case: "step", value: { response: { sequence: BigInt(sequence) } } },
  });

describe.each(BOTH_CHANNELS)("%s channel: calls", (_, open) => {
  it("brings metadata there, and headers and trailers back", async () => {
    let received: grpc.Metadata | undefined;
    const describeHandler: Unary = (call, callback) => {
      received = call.metadata;
      call.sendMetadata(metadata({ "touchstone-instance": "i-7" }));
      callback(
        null,
        create(describeRpc.output, { environment: "maths" }),
        metadata({ "touchstone-delivery": "joined" }),
      );
    };
    await using server = await serveGrpc(EnvironmentService, { Describe: describeHandler });
    await using channel = open(server);
    const { message, info } = await channel.unary(describeRpc, create(describeRpc.input), {
      headers: { "touchstone-key": "k-1", "trace-bin": Buffer.from([0, 255]).toString("base64") },
    });
    expect(message.environment).toBe("maths");
    expect(received?.get("touchstone-key")).toEqual(["k-1"]);
    expect(received?.get("trace-bin")).toEqual([Buffer.from([0, 255])]);
    expect(received?.get("touchstone-max-message")).toEqual([]);
    expect(instanceOf(info)).toBe("i-7");
    expect(deliveryOf(info)).toBe("joined");
    expect(info.trailers.names()).toContain("touchstone-delivery");
  });

  it("field-case-008: keeps 64 bits, and names the field of a number that has none", async () => {
    let received: SeedRequest | undefined;
    const seedHandler: grpc.handleUnaryCall<SeedRequest, unknown> = (call, callback) => {
      received = call.request;
      callback(null, create(seed.output));
    };
    await using server = await serveGrpc(EnvironmentService, { Seed: seedHandler });
    await using channel = open(server);
    await channel.unary(seed, create(seed.input, { seed: 9007199254740993n }));
    expect(received?.seed).toBe(9007199254740993n);

    const broken = create(seed.input);
    Object.assign(broken, { seed: 1.5 });
    const error = await errorOf(channel.unary(seed, broken));
    expect(error).toMatchObject({
      code: Code.InvalidArgument,
      delivery: Delivery.NOT_SENT,
      byCaller: true,
    });
    expect(error.message).toContain("SeedRequest.seed");
    expect(server.calls).toEqual(["Seed"]);
  });

  it("refuses metadata that cannot be sent, without its value", async () => {
    await using server = await serveGrpc(EnvironmentService, { Describe: () => {} });
    await using channel = open(server);
    const headers = { authorization: "Bearer S3CRET\nx" };
    const error = await errorOf(channel.unary(describeRpc, create(describeRpc.input), { headers }));
    expect(error).toMatchObject({ delivery: Delivery.NOT_SENT, byCaller: true });
    expect(error.message).toContain("metadata cannot be sent");
    expect(String(error.message)).not.toContain("S3CRET");
  });

  it("reads streams in order, with headers at the first message and trailers at the end", async () => {
    const watch: Streaming = (call) => {
      call.sendMetadata(metadata({ "touchstone-instance": "i-7" }));
      for (let sequence = 1; sequence <= 1000; sequence++) call.write(stepEvent(sequence));
      call.end(metadata({ "touchstone-delivery": "replayed" }));
    };
    await using server = await serveGrpc(EnvironmentService, { WatchSteps: watch });
    await using channel = open(server);
    const stream = channel.serverStream(watchSteps, create(watchSteps.input));
    const sequences: bigint[] = [];
    for await (const { event } of stream) {
      if (sequences.length === 0) expect(instanceOf(stream.info)).toBe("i-7");
      if (event.case === "step") sequences.push(event.value.response?.sequence ?? 0n);
    }
    expect(sequences).toEqual(Array.from({ length: 1000 }, (__, index) => BigInt(index + 1)));
    expect(deliveryOf(stream.info)).toBe("replayed");
  });

  it("field-case-001: leaving a loop ends the call at the server", async () => {
    const cancelled = gate();
    const watch: Streaming = (call) => {
      call.on("cancelled", () => cancelled.open());
      call.write(stepEvent(1));
      call.write(stepEvent(2));
    };
    await using server = await serveGrpc(EnvironmentService, { WatchSteps: watch });
    await using channel = open(server);
    for await (const { event } of channel.serverStream(watchSteps, create(watchSteps.input))) {
      expect(event.case).toBe("step");
      break;
    }
    await cancelled.opened;
  });

  it("answers several reads that were begun before the first answer", async () => {
    const release = gate();
    const watch: Streaming = async (call) => {
      await release.opened;
      call.write(stepEvent(1));
      call.write(stepEvent(2));
      call.end();
    };
    await using server = await serveGrpc(EnvironmentService, { WatchSteps: watch });
    await using channel = open(server);
    const iterator = channel.serverStream(watchSteps, create(watchSteps.input))[Symbol.asyncIterator]();
    const reads = [iterator.next(), iterator.next(), iterator.next(), iterator.next()];
    release.open();
    expect((await Promise.all(reads)).map(({ done }) => done)).toEqual([false, false, true, true]);
    expect((await iterator.next()).done).toBe(true);
  });

  it("sends a stream of requests and takes the answer", async () => {
    const count: grpc.handleClientStreamingCall<unknown, unknown> = (call, callback) => {
      let scored = 0;
      call.on("data", () => {
        scored += 1;
      });
      call.on("end", () => callback(null, create(aggregateMetrics.output, { scored: BigInt(scored) })));
    };
    await using server = await serveGrpc(EnvironmentService, { AggregateMetrics: count });
    await using channel = open(server);
    async function* requests() {
      for (let index = 0; index < 500; index++) yield create(aggregateMetrics.input);
    }
    const { message } = await channel.clientStream(aggregateMetrics, requests());
    expect(message.scored).toBe(500n);
  });

  it("stops the requests when the answer comes early", async () => {
    const early: grpc.handleClientStreamingCall<unknown, unknown> = (call, callback) => {
      call.once("data", () => callback(null, create(aggregateMetrics.output)));
    };
    await using server = await serveGrpc(EnvironmentService, { AggregateMetrics: early });
    await using channel = open(server);
    const stopped = gate();
    async function* requests() {
      try {
        for (;;) yield create(aggregateMetrics.input);
      } finally {
        stopped.open();
      }
    }
    await channel.clientStream(aggregateMetrics, requests());
    await stopped.opened;
  });

  it("ends the call when the requests fail, and says why", async () => {
    const arrived = gate();
    const cancelled = gate();
    const wait: grpc.handleClientStreamingCall<unknown, unknown> = (call) => {
      call.on("cancelled", () => cancelled.open());
      call.on("data", () => arrived.open());
    };
    await using server = await serveGrpc(EnvironmentService, { AggregateMetrics: wait });
    await using channel = open(server);
    const broken = new Error("disk on fire");
    async function* requests() {
      yield create(aggregateMetrics.input);
      await arrived.opened;
      throw broken;
    }
    const error = await errorOf(channel.clientStream(aggregateMetrics, requests()));
    expect(error).toMatchObject({ code: Code.Canceled, byCaller: true, cause: broken });
    await cancelled.opened;
  });

  it("plays ping-pong over a duplex call, and half-closes", async () => {
    const echo: grpc.handleBidiStreamingCall<StepStreamRequest, unknown> = (call) => {
      call.on("data", ({ frame }) => call.write(create(stepStream.output, { frame })));
      call.on("end", () => call.end());
    };
    await using server = await serveGrpc(EnvironmentService, { StepStream: echo });
    await using channel = open(server);
    let answered = gate();
    async function* requests() {
      for (let frame = 1; frame <= 20; frame++) {
        yield create(StepStreamRequestSchema, { frame: BigInt(frame) });
        await answered.opened;
        answered = gate();
      }
    }
    const frames: bigint[] = [];
    for await (const { frame } of channel.duplex(stepStream, requests())) {
      frames.push(frame);
      answered.open();
    }
    expect(frames).toEqual(Array.from({ length: 20 }, (__, index) => BigInt(index + 1)));
  });

  it("ends a duplex call from this side while it waits for requests", async () => {
    const cancelled = gate();
    const echo: grpc.handleBidiStreamingCall<StepStreamRequest, unknown> = (call) => {
      call.on("cancelled", () => cancelled.open());
      call.on("data", ({ frame }) => call.write(create(stepStream.output, { frame })));
    };
    await using server = await serveGrpc(EnvironmentService, { StepStream: echo });
    await using channel = open(server);
    async function* requests() {
      yield create(StepStreamRequestSchema, { frame: 1n });
      await new Promise(() => {});
    }
    const controller = new AbortController();
    const stream = channel.duplex(stepStream, requests(), { signal: controller.signal });
    const iterator = stream[Symbol.asyncIterator]();
    expect((await iterator.next()).value?.frame).toBe(1n);
    const next = errorOf(iterator.next());
    controller.abort();
    expect((await next).code).toBe(Code.Canceled);
    await cancelled.opened;
  });

  it("loses nothing that had come before the end of the stream, however late it is read", async () => {
    const answerId = "x".repeat(10_000);
    const total = 300;
    const finished = gate();
    const watch: Streaming = (call) => {
      call.on("finish", () => finished.open());
      for (let sequence = 1; sequence <= total; sequence++) {
        const response = { sequence: BigInt(sequence), answerId };
        call.write(create(WatchStepsResponseSchema, { event: { case: "step", value: { response } } }));
      }
      call.end();
    };
    await using server = await serveGrpc(EnvironmentService, { WatchSteps: watch });
    await using channel = open(server);
    const stream = channel.serverStream(watchSteps, create(watchSteps.input));
    await finished.opened;
    await channel.unary(describeRpc, create(describeRpc.input)).catch(() => {});
    expect((await allOf(stream)).length).toBe(total);
  });

  it("field-case-063: a slow reader holds the peer back and loses nothing", async () => {
    const answerId = "x".repeat(10_000);
    const total = 4_000;
    let written = 0;
    const watch: Streaming = (call) => {
      const go = (): void => {
        while (written < total) {
          written += 1;
          const response = { sequence: BigInt(written), answerId };
          const event = create(WatchStepsResponseSchema, { event: { case: "step", value: { response } } });
          if (!call.write(event)) {
            call.once("drain", go);
            return;
          }
        }
        call.end();
      };
      go();
    };
    await using server = await serveGrpc(EnvironmentService, { WatchSteps: watch });
    await using channel = open(server);
    const iterator = channel.serverStream(watchSteps, create(watchSteps.input))[Symbol.asyncIterator]();
    await iterator.next();
    await standstill(() => written);
    // Windows of 4 MiB, a queue of 1 MiB and the buffers between: far below the 40 MB that are to come.
    expect(written).toBeLessThan(1_500);
    const rest = await allOf({ [Symbol.asyncIterator]: () => iterator });
    const last = rest.at(-1)?.event;
    expect(rest.length).toBe(total - 1);
    expect(last?.case === "step" && last.value.response?.sequence).toBe(BigInt(total));
  });
});

/** Waits until a number has not changed for many turns of the event loop. */
async function standstill(count: () => number): Promise<void> {
  for (let turns = 0, before = -1; turns < 300; turns++) {
    if (count() !== before) turns = 0;
    before = count();
    await new Promise((resolve) => setImmediate(resolve));
  }
}
