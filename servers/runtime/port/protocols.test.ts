// Every protocol on one port: plaintext, TLS and mTLS.
import { once } from "node:events";
import { request as http1Request, type IncomingMessage } from "node:http";
import { connect as http2Connect } from "node:http2";
import { request as https1Request, type RequestOptions } from "node:https";
import { createServer, connect as tcpConnect } from "node:net";
import { create } from "@bufbuild/protobuf";
import { createClient, type ServiceImpl, type Transport } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import { credentials } from "@grpc/grpc-js";
import { afterEach, describe, expect, it, vi } from "vitest";
import { hasOpenssl, makeCertificates } from "../../../test/transport/certificates.js";
import {
  type Probe,
  ProbeSchema,
  ProbeService,
} from "../../../test/transport/gen/transport/probe/v1/probe_pb.js";
import { ProbeClient } from "../../../test/transport/probe-client.js";
import { serviceRoute } from "../grpc/service-route.js";
import { openPort, type Port, type PortOptions } from "./index.js";

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const echo: Partial<ServiceImpl<typeof ProbeService>> = {
  unary: ({ text, data }) => ({ text, data }),
  async *bidi(requests) {
    for await (const { number } of requests) yield { number: number + 1 };
  },
};

async function open(options: Partial<PortOptions> = {}): Promise<Port> {
  const port = await openPort({
    routes: [serviceRoute(ProbeService, echo)],
    host: "127.0.0.1",
    port: 0,
    ...options,
  });
  cleanups.push(() => port.close({ graceMs: 0 }));
  return port;
}

const UNARY = "/transport.probe.v1.ProbeService/Unary";
const json = { "content-type": "application/json" };

/** One JSON call over HTTP/1.1. */
async function postJson(
  url: string,
  body: string,
  options: RequestOptions = {},
): Promise<{ status: number | undefined; body: string }> {
  const send = url.startsWith("https:") ? https1Request : http1Request;
  const request = send(new URL(UNARY, url), { method: "POST", headers: json, ...options });
  request.end(body);
  const [response] = (await once(request, "response")) as [IncomingMessage];
  let text = "";
  for await (const chunk of response.setEncoding("utf8")) text += chunk as string;
  return { status: response.statusCode, body: text };
}

/** What the Connect client of every protocol gets for one unary and one bidirectional call. */
async function callAll(transport: Transport, bidi: boolean): Promise<void> {
  const client = createClient(ProbeService, transport);
  expect((await client.unary({ text: "hi" })).text).toBe("hi");
  if (!bidi) return;
  const numbers: number[] = [];
  const requests = (async function* () {
    yield create(ProbeSchema, { number: 1 });
    yield create(ProbeSchema, { number: 5 });
  })();
  for await (const { number } of client.bidi(requests)) numbers.push(number);
  expect(numbers).toEqual([2, 6]);
}

describe("a plaintext port", () => {
  it("serves gRPC, gRPC-Web and Connect over HTTP/2, gRPC-Web and Connect over HTTP/1.1", async () => {
    const { url: baseUrl } = await open();
    for (const useBinaryFormat of [true, false]) {
      await callAll(createGrpcTransport({ baseUrl, useBinaryFormat }), true);
      for (const createTransport of [createConnectTransport, createGrpcWebTransport]) {
        await callAll(createTransport({ baseUrl, httpVersion: "2", useBinaryFormat }), true);
        await callAll(createTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat }), false);
      }
    }
    const client = new ProbeClient(baseUrl);
    expect((await client.unary({ text: "grpc-js" })).answer?.text).toBe("grpc-js");
    client.close();
  });

  it("serves JSON by hand over HTTP/1.1 and over HTTP/2 with prior knowledge", async () => {
    const { url } = await open();
    expect(await postJson(url, '{"text":"one"}')).toEqual({ status: 200, body: '{"text":"one"}' });
    const session = http2Connect(url);
    cleanups.push(() => session.destroy());
    const stream = session.request({ ":method": "POST", ":path": UNARY, ...json });
    stream.end('{"text":"two"}');
    let body = "";
    for await (const chunk of stream.setEncoding("utf8")) body += chunk as string;
    expect(body).toBe('{"text":"two"}');
  });

  it("tells the protocol when the first bytes come one by one", async () => {
    const { port } = await open();
    const socket = tcpConnect(port, "127.0.0.1").setNoDelay(true);
    cleanups.push(() => void socket.destroy());
    await once(socket, "connect");
    let answer = "";
    socket.setEncoding("utf8").on("data", (text: string) => {
      answer += text;
    });
    for (const character of "P") socket.write(character);
    await new Promise((resolve) => setImmediate(resolve));
    socket.end(
      `OST ${UNARY} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`,
    );
    await once(socket, "end");
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  });

  it("answers 404 for what it does not route, and never compresses", async () => {
    const { url } = await open();
    const text = "x".repeat(10_000);
    const request = http1Request(new URL(UNARY, url), {
      method: "POST",
      headers: { ...json, "accept-encoding": "gzip, br" },
    });
    request.end(JSON.stringify({ text }));
    const [response] = (await once(request, "response")) as [IncomingMessage];
    response.resume();
    expect(response.headers["content-encoding"]).toBeUndefined();
    const missing = http1Request(new URL("/nothing", url));
    missing.end();
    const [notFound] = (await once(missing, "response")) as [IncomingMessage];
    notFound.resume();
    expect(notFound.statusCode).toBe(404);
  });

  it("keeps an HTTP/1.1 connection usable after an answer that came before the body was read", async () => {
    const { url } = await open({ maxReceiveBytes: 1_000 });
    const { Agent } = await import("node:http");
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    cleanups.push(() => agent.destroy());
    for (let count = 0; count < 5; count++) {
      const large = await postJson(url, JSON.stringify({ text: "x".repeat(300_000) }), { agent });
      expect(large.status).toBe(429);
      expect(JSON.parse(large.body)).toMatchObject({ code: "resource_exhausted" });
      expect(await postJson(url, '{"text":"ok"}', { agent })).toMatchObject({ status: 200 });
    }
  });

  it("reports what an implementation throws, on every protocol", async () => {
    const fault = new Error("secret");
    const onInternalError = vi.fn();
    const { url: baseUrl } = await open({
      onInternalError,
      routes: [
        serviceRoute(ProbeService, {
          unary() {
            throw fault;
          },
          // biome-ignore lint/correctness/useYield: it fails before it answers
          async *serverStream() {
            throw fault;
          },
        }),
      ],
    });
    const transports = [
      createGrpcTransport({ baseUrl }),
      createConnectTransport({ baseUrl, httpVersion: "1.1" }),
      createGrpcWebTransport({ baseUrl, httpVersion: "2" }),
    ];
    for (const transport of transports) {
      const client = createClient(ProbeService, transport);
      await expect(client.unary({})).rejects.toThrow("[internal] internal error");
      const stream = async (): Promise<void> => {
        for await (const _ of client.serverStream({}));
      };
      await expect(stream()).rejects.toThrow("[internal] internal error");
    }
    expect(onInternalError.mock.calls.map(([method, error]) => [method.name, error])).toEqual(
      transports.flatMap(() => [
        ["Unary", fault],
        ["ServerStream", fault],
      ]),
    );
  });

  it("survives requests that no client would send", async () => {
    const { url, port } = await open();
    const lines = [
      "GET / HTTP/1.0\r\n\r\n",
      "POST // HTTP/1.1\r\nHost: localhost\r\n\r\n",
      `POST ${UNARY} HTTP/1.1\r\nHost: localhost:99999\r\n\r\n`,
      `POST ${UNARY} HTTP/1.0\r\nContent-Type: application/json\r\n\r\n`,
      "OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n",
      "CONNECT a:1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
      "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n",
      "\r\n\r\n",
      "\u0016\u0003\u0001",
    ];
    for (const line of lines) {
      const socket = tcpConnect(port, "127.0.0.1").on("error", () => {});
      socket.resume().end(line);
      await once(socket, "close");
    }
    expect(await postJson(url, "{}")).toEqual({ status: 200, body: "{}" });
  });
});

describe.skipIf(!hasOpenssl())("a TLS port", () => {
  it("serves gRPC and JSON by ALPN", async () => {
    const { authority, server } = makeCertificates();
    const port = await open({ tls: server });
    expect(port.url).toBe(`https://127.0.0.1:${port.port}`);
    const client = new ProbeClient(port.url, { credentials: credentials.createSsl(Buffer.from(authority)) });
    cleanups.push(() => client.close());
    expect((await client.unary({ text: "tls" })).answer?.text).toBe("tls");
    const call = client.bidi();
    call.end(create(ProbeSchema, { number: 1 }));
    expect(((await once(call, "data")) as [Probe])[0].number).toBe(2);
    expect(await postJson(port.url, '{"text":"tls"}', { ca: authority })).toMatchObject({ status: 200 });
    const nodeOptions = { ca: authority };
    await callAll(createConnectTransport({ baseUrl: port.url, httpVersion: "2", nodeOptions }), true);
  });

  it("takes only clients with a certificate of the authority, where one is given", async () => {
    const { authority, server, client } = makeCertificates();
    const stranger = makeCertificates().client;
    const port = await open({ tls: { ...server, clientCa: authority } });
    const call = async (own?: { cert: string; key: string }): Promise<string | undefined> => {
      const [key, cert] = own === undefined ? [null, null] : [Buffer.from(own.key), Buffer.from(own.cert)];
      const grpc = new ProbeClient(port.url, {
        credentials: credentials.createSsl(Buffer.from(authority), key, cert),
      });
      cleanups.push(() => grpc.close());
      return (await grpc.unary({ text: "mtls" }, { deadline: new Date(Date.now() + 2_000) })).answer?.text;
    };
    expect(await call(client)).toBe("mtls");
    expect(await call()).toBeUndefined();
    expect(await call(stranger)).toBeUndefined();
    const ca = authority;
    expect(await postJson(port.url, "{}", { ca, ...client })).toMatchObject({ status: 200 });
    await expect(postJson(port.url, "{}", { ca })).rejects.toThrow();
    await expect(postJson(port.url, "{}", { ca, ...stranger })).rejects.toThrow();
  });
});

describe("openPort", () => {
  it("names host and port of an address in use", async () => {
    const blocker = createServer().listen(0, "127.0.0.1");
    await once(blocker, "listening");
    cleanups.push(() => void blocker.close());
    const taken = (blocker.address() as { port: number }).port;
    await expect(open({ port: taken })).rejects.toThrow(
      `cannot listen on 127.0.0.1:${taken}: the address is in use`,
    );
  });

  it("names the TLS file that it cannot read, and what is wrong with one that it can", async () => {
    const file = "/nonexistent/server.pem";
    await expect(open({ tls: { cert: file, key: file } })).rejects.toThrow(`TLS certificate file ${file}`);
    const broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    await expect(open({ tls: { cert: broken, key: broken } })).rejects.toThrow(
      "cannot use the TLS certificate and key (PEM text, PEM text)",
    );
    const noPem = import.meta.filename;
    await expect(open({ tls: { cert: noPem, key: noPem } })).rejects.toThrow(/cannot use|expected PEM/);
  });
});
