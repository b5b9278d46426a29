// The gRPC handler as a plain grpc-js client sees it.
import { once } from "node:events";
import { connect } from "node:http2";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { StringValueSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import { compressionAlgorithms, Metadata, status } from "@grpc/grpc-js";
import { afterEach, describe, expect, it, vi } from "vitest";
import { StatusSchema } from "../../../gen/google/rpc/status_pb.js";
import {
  type Probe,
  ProbeSchema,
  ProbeService,
} from "../../../test/transport/gen/transport/probe/v1/probe_pb.js";
import { ProbeClient } from "../../../test/transport/probe-client.js";
import { openPort, type PortOptions } from "../port/index.js";
import { joinFrame } from "./frame-reader.js";
import { serviceRoute } from "./service-route.js";

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function serve(
  implementation: Partial<ServiceImpl<typeof ProbeService>>,
  options: Partial<PortOptions> = {},
  channel = {},
): Promise<ProbeClient> {
  const routes = [serviceRoute(ProbeService, implementation)];
  const port = await openPort({ routes, host: "127.0.0.1", port: 0, ...options });
  cleanups.push(() => port.close({ graceMs: 0 }));
  const client = new ProbeClient(port.url, { channel });
  cleanups.push(() => client.close());
  return client;
}

/** A promise with its resolve function. */
function deferred<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

const inMilliseconds = (milliseconds: number): Date => new Date(Date.now() + milliseconds);

describe("unary calls", () => {
  it("answers", async () => {
    const client = await serve({ unary: ({ text, number }) => ({ text: `${text}!`, number: number + 1 }) });
    const { answer, error } = await client.unary({ text: "hello", number: 1 });
    expect(error).toBeNull();
    expect(answer).toMatchObject({ text: "hello!", number: 2 });
  });

  it("answers what an implementation gives synchronously, as a promise, or as a whole message", async () => {
    const client = await serve({
      unary: ({ text }) =>
        text === "later"
          ? Promise.resolve({ text })
          : text === "message"
            ? create(ProbeSchema, { text })
            : { text },
    });
    for (const text of ["now", "later", "message"])
      expect((await client.unary({ text })).answer?.text).toBe(text);
  });

  it("answers UNIMPLEMENTED for a method without implementation and for an unknown path", async () => {
    const client = await serve({});
    expect((await client.unary({})).error?.code).toBe(status.UNIMPLEMENTED);
    expect((await client.unary({}, { path: "/no.such.Service/Method" })).error?.code).toBe(
      status.UNIMPLEMENTED,
    );
  });

  it("hides what is not a ConnectError, and reports it", async () => {
    const onInternalError = vi.fn();
    const secret = new Error("password is hunter2");
    const client = await serve(
      {
        unary() {
          throw secret;
        },
      },
      { onInternalError },
    );
    const { error } = await client.unary({});
    expect(error?.code).toBe(status.INTERNAL);
    expect(error?.details).toBe("internal error");
    expect(onInternalError.mock.calls).toEqual([[ProbeService.method.unary, secret]]);
  });

  it("answers INTERNAL for an answer that cannot be encoded", async () => {
    const onInternalError = vi.fn();
    const client = await serve({ unary: () => ({ number: 2 ** 40 }) }, { onInternalError });
    expect((await client.unary({})).error?.code).toBe(status.INTERNAL);
    expect(onInternalError).toHaveBeenCalledTimes(1);
  });
});

describe("status", () => {
  it("carries google.rpc.Status details", async () => {
    const client = await serve({
      unary() {
        throw new ConnectError("no such task", Code.NotFound, undefined, [
          { desc: StringValueSchema, value: { value: "task-7" } },
        ]);
      },
    });
    const { error } = await client.unary({});
    expect(error).toMatchObject({ code: status.NOT_FOUND, details: "no such task" });
    const [bytes] = error?.metadata.get("grpc-status-details-bin") ?? [];
    const decoded = fromBinary(StatusSchema, bytes as Buffer);
    expect(fromBinary(StringValueSchema, decoded.details[0]?.value ?? new Uint8Array()).value).toBe("task-7");
  });

  it.each([
    ["path a/b: want x, got y", "path a/b: want x, got y"],
    ["50% of grüße\nand 🚀", "50% of grüße\nand 🚀"],
    ["lone \ud800 surrogate", "lone \ufffd surrogate"],
  ])("brings the text %j intact", async (message, seen) => {
    const client = await serve({
      unary() {
        throw new ConnectError(message, Code.Aborted);
      },
    });
    const { error } = await client.unary({});
    expect(error?.details).toBe(seen);
    expect(error?.code).toBe(status.ABORTED);
  });

  it("comes after the answers of a stream that fails", async () => {
    const client = await serve({
      async *serverStream() {
        yield { number: 1 };
        throw new ConnectError("over", Code.OutOfRange);
      },
    });
    const numbers: number[] = [];
    const call = client.serverStream({});
    call.on("data", ({ number }: Probe) => numbers.push(number));
    const [error] = (await once(call, "error")) as [{ code: number }];
    expect(error.code).toBe(status.OUT_OF_RANGE);
    expect(numbers).toEqual([1]);
  });
});

describe("metadata", () => {
  it("brings text and -bin values both ways, repeated ones too", async () => {
    const seen = deferred<Headers>();
    const client = await serve({
      unary(_, context) {
        seen.resolve(context.requestHeader);
        context.responseHeader.set("x-text", "head");
        context.responseHeader.append("x-two-bin", Buffer.from([1]).toString("base64"));
        context.responseHeader.append("x-two-bin", Buffer.from([2, 3]).toString("base64"));
        context.responseTrailer.append("x-end-bin", Buffer.from([255]).toString("base64"));
        context.responseTrailer.set("content-type", "text/html");
        return {};
      },
    });
    const metadata = new Metadata();
    metadata.add("x-name", "one");
    metadata.add("x-name", "two");
    metadata.add("x-raw-bin", Buffer.from([0, 1, 254, 255]));
    const heads: Metadata[] = [];
    const ends: Metadata[] = [];
    const answer = await new Promise((resolve, reject) => {
      const call = client.makeUnaryRequest(
        "/transport.probe.v1.ProbeService/Unary",
        () => Buffer.alloc(0),
        (bytes) => bytes,
        {},
        metadata,
        (error, value) => (error === null ? resolve(value) : reject(error)),
      );
      call.on("metadata", (head: Metadata) => heads.push(head));
      call.on("status", (end: { metadata: Metadata }) => ends.push(end.metadata));
    });
    expect(answer).toBeDefined();
    const request = await seen.promise;
    expect(request.get("x-name")).toBe("one, two");
    expect(request.get("x-raw-bin")).toBe(Buffer.from([0, 1, 254, 255]).toString("base64"));
    expect([...request.keys()].some((name) => name.startsWith(":"))).toBe(false);
    expect(heads[0]?.get("x-text")).toEqual(["head"]);
    expect(heads[0]?.get("x-two-bin")).toEqual([Buffer.from([1]), Buffer.from([2, 3])]);
    expect(ends[0]?.get("x-end-bin")).toEqual([Buffer.from([255])]);
    expect(ends[0]?.get("content-type")).toEqual([]);
  });

  it("is in the context with everything else that connect-es has there", async () => {
    const seen = deferred<HandlerContext>();
    const client = await serve({
      unary(_, context) {
        seen.resolve(context);
        return {};
      },
    });
    await client.unary({}, { deadline: inMilliseconds(60_000) });
    const context = await seen.promise;
    expect(context.protocolName).toBe("grpc");
    expect(context.requestMethod).toBe("POST");
    expect(context.method).toBe(ProbeService.method.unary);
    expect(context.service).toBe(ProbeService);
    expect(new URL(context.url).pathname).toBe("/transport.probe.v1.ProbeService/Unary");
    expect(context.timeoutMs()).toBeGreaterThan(0);
    expect(context.timeoutMs()).toBeLessThanOrEqual(60_000);
    expect(context.values).toBe(context.values);
    // The call has ended well: its signal has fired, with a reason that is no cancel.
    expect(context.signal.aborted).toBe(true);
    expect(context.signal.reason).toMatchObject({ name: "AbortError" });
  });
});

describe("deadlines", () => {
  it("end a call whose implementation does not, and fire its signal", async () => {
    const reason = deferred<unknown>();
    const client = await serve({
      unary: (_, { signal }) =>
        new Promise(() => signal.addEventListener("abort", () => reason.resolve(signal.reason))),
    });
    const { error } = await client.unary({}, { deadline: inMilliseconds(50) });
    expect(error?.code).toBe(status.DEADLINE_EXCEEDED);
    expect(await reason.promise).toMatchObject({ code: Code.DeadlineExceeded });
  });

  it("end an idle bidirectional call", async () => {
    const ended = deferred<unknown>();
    const client = await serve({
      // biome-ignore lint/correctness/useYield: it waits for a request that never comes
      async *bidi(requests) {
        try {
          for await (const _ of requests);
        } catch (error) {
          ended.resolve(error);
          throw error;
        }
      },
    });
    const call = client.bidi({ deadline: inMilliseconds(50) });
    const [error] = (await once(call, "error")) as [{ code: number }];
    expect(error.code).toBe(status.DEADLINE_EXCEEDED);
    expect(await ended.promise).toMatchObject({ code: Code.DeadlineExceeded });
  });
});

describe("bidirectional calls", () => {
  it("answer each request as it comes, and end when the client has ended", async () => {
    const client = await serve({
      async *bidi(requests) {
        for await (const { number } of requests) yield { number: number * 2 };
        yield { text: "end" };
      },
    });
    const call = client.bidi();
    for (const number of [1, 2, 3]) {
      call.write(create(ProbeSchema, { number }));
      const [answer] = (await once(call, "data")) as [Probe];
      expect(answer.number).toBe(number * 2);
    }
    const last = once(call, "data");
    call.end();
    expect((await last)[0]).toMatchObject({ text: "end" });
    const [end] = (await once(call, "status")) as [{ code: number }];
    expect(end.code).toBe(status.OK);
  });

  it("end with the status of an implementation that leaves while the client still sends", async () => {
    const client = await serve({
      // biome-ignore lint/correctness/useYield: it fails before it answers
      async *bidi(requests) {
        for await (const _ of requests) break;
        throw new ConnectError("enough", Code.FailedPrecondition);
      },
    });
    const call = client.bidi();
    const failed = once(call, "error") as Promise<[{ code: number; details: string }]>;
    for (let count = 0; count < 50; count++)
      call.write(create(ProbeSchema, { data: new Uint8Array(100_000) }));
    expect((await failed)[0]).toMatchObject({ code: status.FAILED_PRECONDITION, details: "enough" });
    // The connection's window is open again: other calls go on.
    const after = client.bidi();
    after.write(create(ProbeSchema, { data: new Uint8Array(100_000) }));
    const [error] = (await once(after, "error")) as [{ code: number }];
    expect(error.code).toBe(status.FAILED_PRECONDITION);
  });
});

describe("limits (field-case-62)", () => {
  const MIB = 1024 * 1024;
  /** The bytes of a Probe whose data has this many bytes. */
  const overhead = (bytes: number): number => 1 + Math.ceil(Math.log2(bytes + 1) / 7);
  const dataFor = (bytes: number): Uint8Array => new Uint8Array(bytes - overhead(bytes));

  it.each([4 * MIB - 1, 4 * MIB])("brings a message of %d bytes both ways", async (bytes) => {
    const client = await serve({ unary: ({ data }) => ({ data }) });
    const { answer, error } = await client.unary({ data: dataFor(bytes) });
    expect(error).toBeNull();
    expect(answer?.data.length).toBe(bytes - overhead(bytes));
  });

  it("refuses a larger request alone, naming both sizes; the connection lives on", async () => {
    const release = deferred<void>();
    const client = await serve({
      async unary({ text }) {
        if (text === "slow") await release.promise;
        return { text };
      },
    });
    const slow = client.unary({ text: "slow" });
    const { error } = await client.unary({ data: dataFor(6 * MIB) });
    expect(error?.code).toBe(status.RESOURCE_EXHAUSTED);
    expect(error?.details).toContain(`${6 * MIB} bytes`);
    expect(error?.details).toContain(`${4 * MIB} bytes`);
    release.resolve();
    expect((await slow).answer?.text).toBe("slow");
    expect((await client.unary({ text: "next" })).answer?.text).toBe("next");
  });

  it("refuses a larger answer of the service", async () => {
    const client = await serve({ unary: () => ({ data: dataFor(6 * MIB) }) }, { maxSendBytes: 4 * MIB });
    const { error } = await client.unary({});
    expect(error?.code).toBe(status.RESOURCE_EXHAUSTED);
    expect(error?.details).toContain(`${6 * MIB} bytes`);
  });

  it("reads gzip requests, and refuses one that unpacks to more than the limit", async () => {
    const client = await serve(
      { unary: ({ data }) => ({ number: data.length }) },
      {},
      { "grpc.default_compression_algorithm": compressionAlgorithms.gzip },
    );
    expect((await client.unary({ data: new Uint8Array(3 * MIB) })).answer?.number).toBe(3 * MIB);
    const { error } = await client.unary({ data: new Uint8Array(64 * MIB) });
    expect(error?.code).toBe(status.RESOURCE_EXHAUSTED);
  });
});

describe("compressed answers", () => {
  const text = "compressible ".repeat(20_000);

  it.each([1_000, text.length])("come where they are asked for and taken (%d characters)", async (length) => {
    const client = await serve({ unary: () => ({ text: text.slice(0, length) }) }, { compress: true });
    expect((await client.unary({})).answer?.text).toBe(text.slice(0, length));
  });

  it("are flagged, and only those that are compressed", async () => {
    const routes = [serviceRoute(ProbeService, { unary: (request) => request })];
    const port = await openPort({ routes, host: "127.0.0.1", port: 0, compress: true });
    cleanups.push(() => port.close({ graceMs: 0 }));
    const session = connect(port.url);
    cleanups.push(() => session.destroy());
    const flagOf = async (sent: string, headers: Record<string, string>): Promise<number | undefined> => {
      const stream = session.request({
        ":method": "POST",
        ":path": "/transport.probe.v1.ProbeService/Unary",
        "content-type": "application/grpc",
        ...headers,
      });
      stream.end(joinFrame(toBinary(ProbeSchema, create(ProbeSchema, { text: sent })), false));
      const [chunk] = (await once(stream, "data")) as [Buffer];
      return chunk[0];
    };
    const gzip = { "grpc-accept-encoding": "deflate, gzip" };
    expect(await flagOf(text, gzip)).toBe(1);
    expect(await flagOf("short", gzip)).toBe(0);
    expect(await flagOf(text, {})).toBe(0);
  });
});
