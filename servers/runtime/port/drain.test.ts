// How a port closes.
import { once } from "node:events";
import { Agent, request as http1Request, type IncomingMessage } from "node:http";
import { connect as tcpConnect } from "node:net";
import { create } from "@bufbuild/protobuf";
import { Code, createClient, type ServiceImpl } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { status } from "@grpc/grpc-js";
import { afterEach, describe, expect, it } from "vitest";
import {
  type Probe,
  ProbeSchema,
  ProbeService,
} from "../../../test/transport/gen/transport/probe/v1/probe_pb.js";
import { ProbeClient } from "../../../test/transport/probe-client.js";
import { serviceRoute } from "../grpc/service-route.js";
import { openPort, type Port } from "./index.js";

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const LONG_MS = 60_000;

/** An implementation whose unary calls answer when released, and whose streams echo. */
function held(): {
  implementation: Partial<ServiceImpl<typeof ProbeService>>;
  entered: Promise<void>;
  release(): void;
} {
  let enter: () => void = () => {};
  let release: () => void = () => {};
  const entered = new Promise<void>((resolve) => {
    enter = resolve;
  });
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  return {
    entered,
    release: () => release(),
    implementation: {
      async unary({ text }) {
        enter();
        await released;
        return { text };
      },
      async *bidi(requests) {
        for await (const { number } of requests) yield { number };
      },
      async *serverStream() {
        enter();
        yield { text: "first" };
        await released;
        yield { text: "last" };
      },
    },
  };
}

async function open(implementation: Partial<ServiceImpl<typeof ProbeService>>, at = 0): Promise<Port> {
  const port = await openPort({
    routes: [serviceRoute(ProbeService, implementation)],
    host: "127.0.0.1",
    port: at,
  });
  cleanups.push(() => port.close({ graceMs: 0 }));
  return port;
}

function dial(url: string): ProbeClient {
  const client = new ProbeClient(url);
  cleanups.push(() => client.close());
  return client;
}

describe("field-case-6: a graceful GOAWAY", () => {
  it("lets the open stream finish, new messages on it too, while the next call goes to a new connection", async () => {
    let streams = 0;
    const first = await open({
      async *bidi(requests) {
        streams++;
        for await (const { number } of requests) yield { number };
      },
    });
    const client = dial(first.url);
    const call = client.bidi();
    call.write(create(ProbeSchema, { number: 1 }));
    await once(call, "data");

    const closed = first.close({ graceMs: LONG_MS });
    // The old port listens no more: its successor takes the address.
    const second = await open({ unary: () => ({ text: "from the successor" }) }, first.port);
    expect((await client.unary({}, { deadline: new Date(Date.now() + 10_000) })).answer?.text).toBe(
      "from the successor",
    );
    call.write(create(ProbeSchema, { number: 2 }));
    expect(((await once(call, "data")) as [Probe])[0].number).toBe(2);
    call.end();
    const [end] = (await once(call.resume(), "status")) as [{ code: number }];
    expect(end.code).toBe(status.OK);
    await closed;
    expect(streams).toBe(1);
    await second.close({ graceMs: 0 });
  });
});

describe("Port.close", () => {
  it("waits for open calls of every protocol, and ends idle connections at once", async () => {
    const { implementation, entered, release } = held();
    const port = await open(implementation);
    const idle = dial(port.url);
    const bidi = idle.bidi();
    bidi.end();
    await once(bidi.resume(), "end");
    const agent = new Agent({ keepAlive: true });
    cleanups.push(() => agent.destroy());
    const grpc = dial(port.url).unary({ text: "grpc" });
    const connect = createClient(
      ProbeService,
      createConnectTransport({ baseUrl: port.url, httpVersion: "1.1" }),
    );
    const web = connect.unary({ text: "connect" });
    await entered;
    const silent = tcpConnect(port.port, "127.0.0.1");
    await once(silent, "connect");

    const closed = port.close({ graceMs: LONG_MS });
    await once(silent.resume(), "close");
    release();
    expect((await grpc).answer?.text).toBe("grpc");
    expect((await web).text).toBe("connect");
    await closed;
  });

  it("closes a keep-alive connection once its call is answered", async () => {
    const { implementation, entered, release } = held();
    const port = await open(implementation);
    const agent = new Agent({ keepAlive: true });
    cleanups.push(() => agent.destroy());
    const request = http1Request(new URL("/transport.probe.v1.ProbeService/Unary", port.url), {
      agent,
      method: "POST",
      headers: { "content-type": "application/json" },
    });
    request.end("{}");
    await entered;
    const closed = port.close({ graceMs: LONG_MS });
    release();
    const [response] = (await once(request, "response")) as [IncomingMessage];
    response.resume();
    expect(response.statusCode).toBe(200);
    await closed;
  });

  it("answers what is open at the end of the grace with UNAVAILABLE, whatever the implementation does", async () => {
    const { implementation, entered } = held();
    const port = await open(implementation);
    const client = dial(port.url);
    const unary = client.unary({});
    const stream = client.serverStream({});
    const streamed = once(
      stream.on("data", () => {}),
      "error",
    ) as Promise<[{ code: number }]>;
    const bidi = client.bidi();
    const bidied = once(
      bidi.on("data", () => {}),
      "error",
    ) as Promise<[{ code: number }]>;
    bidi.write(create(ProbeSchema, { number: 1 }));
    const connects = (["1.1", "2"] as const).map((httpVersion) =>
      createClient(ProbeService, createConnectTransport({ baseUrl: port.url, httpVersion })),
    );
    const webUnaries = connects.map((connect) => connect.unary({}).catch((error: unknown) => error));
    const webStreams = connects.map(async (connect) => {
      try {
        for await (const _ of connect.serverStream({}));
        return undefined;
      } catch (error) {
        return error;
      }
    });
    await entered;
    await Promise.all([once(stream, "data"), once(bidi, "data")]);
    await port.close({ graceMs: 50 });
    expect((await unary).error?.code).toBe(status.UNAVAILABLE);
    expect((await streamed)[0].code).toBe(status.UNAVAILABLE);
    expect((await bidied)[0].code).toBe(status.UNAVAILABLE);
    for (const error of await Promise.all([...webUnaries, ...webStreams])) {
      expect(error).toMatchObject({ code: Code.Unavailable });
    }
  });

  it("can be called again, and disposes", async () => {
    const { implementation } = held();
    const port = await open(implementation);
    await Promise.all([port.close({ graceMs: LONG_MS }), port.close({ graceMs: 0 })]);
    await port[Symbol.asyncDispose]();
    const client = dial(port.url);
    expect((await client.unary({})).error?.code).toBe(status.UNAVAILABLE);
  });
});
