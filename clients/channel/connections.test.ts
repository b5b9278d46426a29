import { execFile } from "node:child_process";
import { createServer } from "node:http";
import { createServer as createHttp2Server, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { create, toBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { Delivery, EnvironmentService } from "../../gen/index.js";
import { ManualClock } from "../../test/manual-clock.js";
import { BOTH_CHANNELS } from "../fixtures/both-channels.js";
import { errorOf, gate } from "../fixtures/call-outcome.js";
import { answer, serveHttp2 } from "../fixtures/http2-server.js";
import { freePort, serveTcp, serveWire } from "../fixtures/tcp-server.js";
import { http2Channel } from "./http2-channel.js";

const { describe: describeRpc, getTask, watchSteps } = EnvironmentService.method;
const request = create(describeRpc.input);
const described = toBinary(describeRpc.output, create(describeRpc.output, { environment: "maths" }));
const event = toBinary(
  watchSteps.output,
  create(watchSteps.output, { event: { case: "heartbeat", value: {} } }),
);

describe.each(BOTH_CHANNELS)("%s channel: connections", (name, open) => {
  it("field-case-006: a graceful GOAWAY ends no call, and new calls go to a new connection", async () => {
    const calls: string[] = [];
    const begun = gate<ServerHttp2Stream>();
    await using server = await serveHttp2(({ stream, method }) => {
      calls.push(method);
      if (method === "Describe") {
        answer(stream, [described]);
        return;
      }
      stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.write(Buffer.concat([Buffer.from([0, 0, 0, 0, event.length]), event]));
      begun.open(stream);
    });
    await using channel = open(server);
    const iterator = channel.serverStream(watchSteps, create(watchSteps.input))[Symbol.asyncIterator]();
    await iterator.next();
    const stream = await begun.opened;
    server.sessions[0]?.close();
    for (let count = 0; count < 3; count++) {
      expect((await channel.unary(describeRpc, request)).message.environment).toBe("maths");
    }
    stream.end(Buffer.concat([Buffer.from([0, 0, 0, 0, event.length]), event]));
    expect((await iterator.next()).done).toBe(false);
    expect((await iterator.next()).done).toBe(true);
    expect(server.sessions.length).toBe(2);
    expect(calls).toEqual(["WatchSteps", "Describe", "Describe", "Describe"]);
  });

  it("field-case-006: a call behind the GOAWAY's last stream is made again on a new connection", async () => {
    const seen: (number | undefined)[] = [];
    await using server = await serveHttp2(({ stream, session }) => {
      seen.push(stream.id);
      // The server says that it has looked at stream 1 only.
      if (seen.length === 2) session.goaway(0, 1);
      else answer(stream, [described]);
    });
    await using channel = open(server);
    for (let count = 0; count < 2; count++) {
      expect((await channel.unary(describeRpc, request)).message.environment).toBe("maths");
    }
    expect(seen).toEqual([1, 3, 1]);
  });

  it("field-case-036: a refused stream was never looked at, and is made again", async () => {
    let seen = 0;
    await using server = await serveHttp2(({ stream }) => {
      seen += 1;
      if (seen === 1) stream.close(7);
      else answer(stream, [described]);
    });
    await using channel = open(server);
    expect((await channel.unary(describeRpc, request)).message.environment).toBe("maths");
    expect(seen).toBe(2);
  });

  it("field-case-036: a server that refuses all streams leaves the call unsent", async () => {
    await using server = await serveHttp2(({ stream }) => stream.close(7));
    await using channel = open(server);
    const error = await errorOf(channel.unary(describeRpc, request));
    expect(error).toMatchObject({ code: Code.Unavailable, delivery: Delivery.NOT_SENT, byCaller: false });
  });

  it("field-case-036: a call that was read and reset may have been delivered", async () => {
    let seen = 0;
    await using server = await serveHttp2(({ stream }) => {
      seen += 1;
      stream.close(2);
    });
    await using channel = open(server);
    const error = await errorOf(channel.unary(describeRpc, request));
    expect(error).toMatchObject({
      code: Code.Internal,
      delivery: Delivery.POSSIBLY_DELIVERED,
      isUnknown: true,
    });
    expect(seen).toBe(1);
  });

  it("a connection that breaks under a call is UNAVAILABLE, perhaps delivered, and made anew", async () => {
    let seen = 0;
    await using server = await serveHttp2(({ stream }) => {
      seen += 1;
      if (seen === 1) for (const socket of wire.sockets) socket.destroy();
      else answer(stream, [described]);
    });
    await using wire = await serveWire(Number(new URL(server.url).port));
    await using channel = open({ url: `http://127.0.0.1:${wire.port}` });
    const error = await errorOf(channel.unary(describeRpc, request));
    expect(error).toMatchObject({ code: Code.Unavailable, delivery: Delivery.POSSIBLY_DELIVERED });
    expect((await channel.unary(describeRpc, request)).message.environment).toBe("maths");
    expect(seen).toBe(2);
  });

  it("field-case-036: nothing listens: not sent, and the target is named", async () => {
    const port = await freePort();
    await using channel = open({ url: `http://127.0.0.1:${port}` });
    const error = await errorOf(channel.unary(describeRpc, request));
    expect(error).toMatchObject({ code: Code.Unavailable, delivery: Delivery.NOT_SENT, byCaller: false });
    expect(error.message).toContain(`http://127.0.0.1:${port}`);
    expect(error.message).toContain("nothing listens there");
  });

  it("connects when the server has come up", async () => {
    const port = await freePort();
    await using channel = open({ url: `http://127.0.0.1:${port}` });
    await errorOf(channel.unary(describeRpc, request));
    await using server = await serveHttp2(({ stream }) => answer(stream, [described]), {}, port);
    expect(server.url).toContain(String(port));
    // grpc-js waits a little before it tries again, and fails calls meanwhile.
    for (;;) {
      const call = await Promise.allSettled([channel.unary(describeRpc, request)]);
      if (call[0]?.status === "fulfilled") break;
    }
  });

  it("an HTTP/1.1 server is told as such", async () => {
    const server = createServer((_, response) => response.end("hello"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    await using channel = open({ url: `http://127.0.0.1:${port}` });
    const error = await errorOf(channel.unary(describeRpc, request));
    server.closeAllConnections();
    server.close();
    expect(error).toMatchObject({ code: Code.Unavailable, delivery: Delivery.NOT_SENT });
    expect(error.message).toContain("does not speak HTTP/2");
  });

  it("field-case-125: a server that accepts and says nothing is not waited for beyond the deadline", async () => {
    await using server = await serveTcp(() => {});
    await using channel = open({ url: `http://127.0.0.1:${server.port}` });
    const error = await errorOf(channel.unary(describeRpc, request, { timeoutMs: 200 }));
    expect(error.code).toBe(Code.DeadlineExceeded);
    expect(error.message).toContain(`http://127.0.0.1:${server.port}`);
  });

  it("field-case-054: a peer that vanishes is found by pings, and the same channel goes on", async () => {
    const arrived = gate();
    let seen = 0;
    await using server = await serveHttp2(({ stream }) => {
      seen += 1;
      if (seen === 1) arrived.open();
      else answer(stream, [described]);
    });
    const { port } = new URL(server.url);
    await using wire = await serveWire(Number(port));
    await using channel = open(
      { url: `http://127.0.0.1:${wire.port}` },
      { keepaliveMs: 100, keepaliveTimeoutMs: 100 },
    );
    const call = errorOf(channel.unary(describeRpc, request));
    await arrived.opened;
    wire.goDead();
    const error = await call;
    expect(error).toMatchObject({
      code: Code.Unavailable,
      delivery: Delivery.POSSIBLY_DELIVERED,
      isUnknown: true,
    });
    expect(error.message).toContain("connection was lost");
    expect((await channel.unary(describeRpc, request)).message.environment).toBe("maths");
  });

  it("field-case-061: 500 calls at once, though a connection takes 100", async () => {
    const streams: ServerHttp2Stream[] = [];
    await using server = await serveHttp2(
      ({ stream }) => {
        streams.push(stream);
        // Nobody is answered before all have come: no call may wait for another one's place.
        if (streams.length === 500) for (const one of streams) answer(one, [described]);
      },
      { settings: { maxConcurrentStreams: 100 } },
    );
    await using channel = open(server);
    const calls = Array.from({ length: 500 }, () =>
      channel.unary(describeRpc, request, { timeoutMs: 20_000 }),
    );
    expect((await Promise.all(calls)).length).toBe(500);
    expect(server.sessions.length).toBe(5);
  });

  it("field-case-061: calls beyond all connections wait in turn, and the wait is told", async () => {
    const clock = new ManualClock();
    const streams: ServerHttp2Stream[] = [];
    const full = gate();
    await using server = await serveHttp2(
      ({ stream }) => {
        streams.push(stream);
        if (streams.length > 20) answer(stream, [described]);
        else if (streams.length === 20) full.open();
      },
      { settings: { maxConcurrentStreams: 10 } },
    );
    await using channel = open(server, { clock, maxConnections: 2, maxStreamsPerConnection: 10 });
    const running = Array.from({ length: 20 }, () => channel.unary(describeRpc, request));
    await full.opened;
    const late = errorOf(channel.unary(describeRpc, request, { timeoutMs: 100 }));
    const waiting = Array.from({ length: 30 }, () => channel.unary(describeRpc, request));
    expect(channel.stats()).toEqual({ connections: 2, activeCalls: 20, waitingCalls: 31, capacity: 20 });
    clock.advance(100);
    expect(await late).toMatchObject({ code: Code.DeadlineExceeded, delivery: Delivery.NOT_SENT });
    expect((await late).message).toContain("20 calls are on their way over 2 of at most 2 connections");
    for (const stream of streams.slice(0, 20)) answer(stream, [described]);
    await Promise.all([...running, ...waiting]);
    expect(server.sessions.length).toBe(2);
  });

  it("an idle channel does not keep the process alive", async () => {
    await using server = await serveHttp2(({ stream }) => answer(stream, [described]));
    const script = join(import.meta.dirname, "../fixtures/idle-client.ts");
    const { stdout } = await promisify(execFile)(process.execPath, [
      "--import",
      "tsx",
      script,
      name,
      server.url,
    ]);
    expect(stdout).toBe("maths");
  });

  it("close ends what runs and refuses what comes", async () => {
    const arrived = gate();
    await using server = await serveHttp2(() => arrived.open());
    const channel = open(server);
    const running = errorOf(channel.unary(describeRpc, request));
    const reading = errorOf(
      channel.serverStream(watchSteps, create(watchSteps.input))[Symbol.asyncIterator]().next(),
    );
    await arrived.opened;
    await channel.close();
    expect(await running).toMatchObject({ code: Code.Unavailable, delivery: Delivery.POSSIBLY_DELIVERED });
    expect((await reading).code).toBe(Code.Unavailable);
    const late = await errorOf(channel.unary(describeRpc, request));
    expect(late).toMatchObject({ code: Code.Unavailable, delivery: Delivery.NOT_SENT });
    await channel.close();
  });
});

describe("http2 channel: connections of its own", () => {
  it("gives up a connection that brings no settings in time", async () => {
    const clock = new ManualClock();
    await using server = await serveTcp(() => {});
    await using channel = http2Channel(
      { url: `http://127.0.0.1:${server.port}` },
      { clock, connectTimeoutMs: 3_000 },
    );
    const call = errorOf(channel.unary(describeRpc, request));
    clock.advance(3_000);
    const error = await call;
    expect(error).toMatchObject({ code: Code.Unavailable, delivery: Delivery.NOT_SENT });
    expect(error.message).toContain("no HTTP/2 settings came within 3000 ms");
  });

  it("pings less often where a server finds it too much", async () => {
    const clock = new ManualClock();
    let seen = 0;
    await using server = await serveHttp2(({ session }) => {
      seen += 1;
      // ENHANCE_YOUR_CALM, as gRPC servers say it to those who ping too much.
      if (seen === 1) session.goaway(11, 0, Buffer.from("too_many_pings"));
    });
    await using channel = http2Channel(server, { clock, keepaliveMs: 20_000 });
    const error = await errorOf(channel.unary(describeRpc, request));
    expect(error).toMatchObject({ code: Code.Unavailable, delivery: Delivery.POSSIBLY_DELIVERED });
    expect(error.message).toContain("GOAWAY ENHANCE_YOUR_CALM");
    const second = errorOf(channel.unary(describeRpc, request));
    await clock.timer(40_000);
    await channel.close();
    await second;
  });

  it("gives up a request that the server has answered and does not take", async () => {
    const closed = gate();
    const server = createHttp2Server();
    server.on("stream", (stream) => {
      stream.on("error", () => {});
      stream.on("close", () => closed.open());
      // It reads a little and then no more: the end of the request never comes.
      stream.once("data", () => stream.pause());
      stream.respond(
        { ":status": 200, "content-type": "application/grpc", "grpc-status": "8" },
        { endStream: true },
      );
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const channel = http2Channel({ url: `http://127.0.0.1:${port}` });
    const large = create(getTask.input, { taskId: { id: "x".repeat(3_000_000) } });
    expect((await errorOf(channel.unary(getTask, large))).code).toBe(Code.ResourceExhausted);
    await closed.opened;
    await channel.close();
    server.close();
  });

  it("spreads calls over as many connections as it was told", async () => {
    const shares = new Map<unknown, number>();
    await using server = await serveHttp2(({ stream, session }) => {
      shares.set(session, (shares.get(session) ?? 0) + 1);
      answer(stream, [described]);
    });
    await using channel = http2Channel(server, { connections: 3 });
    for (let round = 0; round < 5; round++) {
      await Promise.all(Array.from({ length: 12 }, () => channel.unary(describeRpc, request)));
    }
    expect(server.sessions.length).toBe(3);
    // The first round had one connection only; the others are shared evenly.
    expect([...shares.values()].reduce((sum, share) => sum + share, 0)).toBe(60);
    expect(Math.min(...shares.values())).toBeGreaterThan(10);
  });
});
