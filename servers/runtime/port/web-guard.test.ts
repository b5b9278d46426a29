import { once } from "node:events";
import { request as http1Request, type IncomingMessage, type OutgoingHttpHeaders } from "node:http";
import { connect, type IncomingHttpHeaders } from "node:http2";
import { afterEach, describe, expect, it, vi } from "vitest";
import { ProbeService } from "../../../test/transport/gen/transport/probe/v1/probe_pb.js";
import { serviceRoute } from "../grpc/service-route.js";
import { openPort, type PortOptions } from "./index.js";
import { createWebGuard } from "./web-guard.js";

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const UNARY = "/transport.probe.v1.ProbeService/Unary";
const FRIEND = "https://friend.example";

async function open(
  options: Partial<PortOptions> = {},
): Promise<{ url: string; handler: ReturnType<typeof vi.fn> }> {
  const handler = vi.fn(() => ({}));
  const routes = [serviceRoute(ProbeService, { unary: handler })];
  const port = await openPort({ routes, host: "127.0.0.1", port: 0, ...options });
  cleanups.push(() => port.close({ graceMs: 0 }));
  return { url: port.url, handler };
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
}

async function overHttp1(url: string, method: string, headers: OutgoingHttpHeaders): Promise<Answer> {
  const request = http1Request(new URL(UNARY, url), { method, headers });
  request.end(method === "POST" ? "{}" : undefined);
  const [response] = (await once(request, "response")) as [IncomingMessage];
  response.resume();
  return { status: response.statusCode ?? 0, headers: response.headers };
}

async function overHttp2(url: string, method: string, headers: OutgoingHttpHeaders): Promise<Answer> {
  const { host, ...rest } = headers;
  const session = connect(url);
  try {
    const stream = session.request({
      ":method": method,
      ":path": UNARY,
      ...(host === undefined ? {} : { ":authority": String(host) }),
      ...rest,
    });
    stream.end(method === "POST" ? "{}" : undefined);
    const [answer] = (await once(stream, "response")) as [IncomingHttpHeaders & { ":status": number }];
    return { status: answer[":status"], headers: answer };
  } finally {
    session.destroy();
  }
}

const json = { "content-type": "application/json" };

describe.each([
  ["HTTP/1.1", overHttp1],
  ["HTTP/2", overHttp2],
])("field-case-134, ALL-WEB-001, ALL-WEB-002 over %s", (_, send) => {
  it.each([
    ["a foreign Origin", { ...json, origin: "https://evil.example" }],
    ["the Origin null", { ...json, origin: "null" }],
    ["a foreign Host", { ...json, host: "evil.example" }],
    ["a foreign Host with our port", { ...json, host: "evil.example:80" }],
    ["a Host that only begins like ours", { ...json, host: "127.0.0.1.evil.example" }],
    ["a Host that only ends like ours", { ...json, host: "evil-localhost" }],
  ])("refuses %s before the handler", async (_name, headers) => {
    const { url, handler } = await open({ allowedOrigins: [FRIEND] });
    const { status, headers: answered } = await send(url, "POST", headers);
    expect(status).toBe(403);
    expect(answered["access-control-allow-origin"]).toBeUndefined();
    expect(handler).not.toHaveBeenCalled();
  });

  it("refuses a form's content type", async () => {
    const { url, handler } = await open();
    expect((await send(url, "POST", { "content-type": "text/plain" })).status).toBe(415);
    expect(handler).not.toHaveBeenCalled();
  });

  it("does not answer a foreign preflight with leave, nor any with a wildcard", async () => {
    const { url } = await open({ allowedOrigins: [FRIEND] });
    const asked = {
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization,content-type",
    };
    const foreign = await send(url, "OPTIONS", { ...asked, origin: "https://evil.example" });
    expect(foreign.status).toBe(403);
    expect(foreign.headers["access-control-allow-origin"]).toBeUndefined();
    const friendly = await send(url, "OPTIONS", { ...asked, origin: FRIEND });
    expect(friendly.status).toBe(204);
    expect(friendly.headers["access-control-allow-origin"]).toBe(FRIEND);
    expect(friendly.headers["access-control-allow-methods"]).toBe("POST, GET");
    expect(friendly.headers["access-control-allow-headers"]).toContain("authorization");
    expect(friendly.headers["access-control-allow-headers"]).toContain("Connect-Protocol-Version");
    expect(JSON.stringify(friendly.headers)).not.toContain("*");
  });

  it("serves an allowed origin, which may read the answer", async () => {
    const { url, handler } = await open({ allowedOrigins: [FRIEND] });
    const { status, headers } = await send(url, "POST", { ...json, origin: FRIEND });
    expect(status).toBe(200);
    expect(headers["access-control-allow-origin"]).toBe(FRIEND);
    expect(String(headers["access-control-expose-headers"]).toLowerCase()).toContain("grpc-status");
    expect(headers["vary"]).toBe("Origin");
    expect(handler).toHaveBeenCalledTimes(1);
  });

  it.each([
    "localhost",
    "LOCALHOST:1234",
    "127.0.0.1",
    "127.8.8.8:1",
    "[::1]:99",
    "box.example",
    "Box.Example:8080",
  ])("serves the Host %s", async (host) => {
    const { url } = await open({ allowedHosts: ["box.example"] });
    expect((await send(url, "POST", { ...json, host })).status).toBe(200);
  });
});

describe("gRPC", () => {
  const grpc = { "content-type": "application/grpc", te: "trailers" };

  it("is refused with a foreign Origin: no gRPC client sends one", async () => {
    const { url, handler } = await open({ allowedOrigins: [FRIEND] });
    expect((await overHttp2(url, "POST", { ...grpc, origin: "https://evil.example" })).status).toBe(403);
    expect(handler).not.toHaveBeenCalled();
    expect((await overHttp2(url, "POST", { ...grpc, origin: FRIEND })).status).toBe(200);
  });

  it("may name any authority: clients override it, and no page can send gRPC", async () => {
    const { url } = await open();
    expect((await overHttp2(url, "POST", { ...grpc, host: "name-of-a-pod" })).status).toBe(200);
  });
});

describe("createWebGuard", () => {
  const guard = createWebGuard("box.example", [], ["proxy.example:8443"]);
  const judge = (authority: string | undefined, localAddress?: string): string =>
    guard.judge({ method: "POST", headers: {}, authority, localAddress }).kind;

  it("takes the name it listens on, the address a connection came in on, and hosts with their port", () => {
    expect(judge("box.example:50051")).toBe("serve");
    expect(judge("10.1.2.3:50051", "10.1.2.3")).toBe("serve");
    expect(judge("10.1.2.3", "::ffff:10.1.2.3")).toBe("serve");
    expect(judge("10.9.9.9", "10.1.2.3")).toBe("refuse");
    expect(judge("proxy.example:8443")).toBe("serve");
    expect(judge("proxy.example:1")).toBe("refuse");
  });

  it.each([undefined, "", "a b", "localhost:99999", "localhost:", "user@localhost", "[::1", "local/host"])(
    "refuses %j, which is no authority",
    (authority) => {
      expect(judge(authority)).toBe("refuse");
    },
  );
});
