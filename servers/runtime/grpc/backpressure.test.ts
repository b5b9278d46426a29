// Neither side may make the other's memory grow.

import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from "node:http2";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import { afterEach, describe, expect, it } from "vitest";
import { ProbeSchema, ProbeService } from "../../../test/transport/gen/transport/probe/v1/probe_pb.js";
import { openPort } from "../port/index.js";
import { FrameReader, joinFrame } from "./frame-reader.js";
import { serviceRoute } from "./service-route.js";

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const WINDOW = 64 * 1024;

/** A raw client, which reads when the test wants. */
async function dial(implementation: Partial<ServiceImpl<typeof ProbeService>>): Promise<ClientHttp2Session> {
  const routes = [serviceRoute(ProbeService, implementation)];
  const port = await openPort({ routes, host: "127.0.0.1", port: 0 });
  cleanups.push(() => port.close({ graceMs: 0 }));
  const session = connect(port.url, { settings: { initialWindowSize: WINDOW } });
  session.on("error", () => {});
  cleanups.push(() => session.destroy());
  await once(session, "connect");
  return session;
}

function call(
  session: ClientHttp2Session,
  method: string,
  headers: Record<string, string> = {},
): ClientHttp2Stream {
  const stream = session.request({
    ":method": "POST",
    ":path": `/transport.probe.v1.ProbeService/${method}`,
    "content-type": "application/grpc",
    te: "trailers",
    ...headers,
  });
  stream.on("error", () => {});
  return stream;
}

const frameOf = (number: number, bytes: number): Buffer =>
  joinFrame(toBinary(ProbeSchema, create(ProbeSchema, { number, data: new Uint8Array(bytes) })), false);

describe("field-case-63: a slow reader", () => {
  it("holds the producer back, and loses nothing once it reads", async () => {
    const total = 3_000;
    let produced = 0;
    const session = await dial({
      async *serverStream() {
        const data = new Uint8Array(10_000);
        while (produced < total) yield { number: produced++, data };
      },
    });
    const stream = call(session, "ServerStream");
    stream.end(frameOf(0, 0));
    await once(stream, "response");
    // Nothing is read. Round trips on the same connection: whatever the server still wanted to send, it has.
    for (let count = 0; count < 20; count++) {
      await new Promise<void>((resolve) => session.ping(() => resolve()));
    }
    const held = produced;
    // The client's window, and what Node and the kernel keep for one stream.
    expect(held * 10_000).toBeLessThan(WINDOW + 1024 * 1024);

    const reader = new FrameReader(20_000, false);
    const numbers: number[] = [];
    stream.on("data", (chunk: Buffer) => {
      reader.push(chunk);
      for (let frame = reader.next(); frame !== undefined; frame = reader.next()) {
        numbers.push(fromBinary(ProbeSchema, frame.bytes).number);
      }
    });
    const [trailers] = (await once(stream, "trailers")) as [Record<string, string>];
    expect(trailers["grpc-status"]).toBe("0");
    expect(numbers).toEqual(Array.from({ length: total }, (_, index) => index));
  });

  it("does not outlive its deadline, though it cannot take the status", async () => {
    let over: () => void = () => {};
    const finished = new Promise<void>((resolve) => {
      over = resolve;
    });
    const session = await dial({
      async *serverStream() {
        try {
          for (;;) yield { data: new Uint8Array(100_000) };
        } finally {
          over();
        }
      },
    });
    const stream = call(session, "ServerStream", { "grpc-timeout": "100m" });
    stream.end(frameOf(0, 0));
    await finished;
    // Reading only now that it is closed: the reset needs no window.
    stream.once("aborted", () => stream.resume());
    await once(stream, "close");
    expect(stream.rstCode).toBe(constants.NGHTTP2_CANCEL);
  });
});

describe("a slow implementation", () => {
  it("holds the sender back, and gets everything", async () => {
    let release: () => void = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const session = await dial({
      async clientStream(requests) {
        let count = 0;
        await released;
        for await (const { number } of requests) {
          if (number !== count) throw new Error(`expected ${count}, found ${number}`);
          count++;
        }
        return { number: count };
      },
    });
    const total = 2_000;
    const stream = call(session, "ClientStream");
    let sent = 0;
    for (; sent < total && stream.writableLength < 8 * 1024 * 1024; sent++)
      stream.write(frameOf(sent, 10_000));
    // Past the server's window of 4 MiB and its queue of 1 MiB, writes wait in the client.
    for (let count = 0; count < 20; count++) {
      await new Promise<void>((resolve) => session.ping(() => resolve()));
    }
    expect(stream.writableLength).toBeGreaterThan(1024 * 1024);
    release();
    for (; sent < total; sent++) stream.write(frameOf(sent, 10_000));
    stream.end();
    const chunks: Buffer[] = [];
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    await once(stream, "end");
    expect(fromBinary(ProbeSchema, Buffer.concat(chunks).subarray(5)).number).toBe(total);
  });
});
