import { createSecureServer, type Http2Session } from "node:http2";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, toBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Delivery, EnvironmentService } from "../../gen/index.js";
import { hasOpenssl, makeCertificates } from "../../test/transport/certificates.js";
import { BOTH_CHANNELS } from "../fixtures/both-channels.js";
import { errorOf } from "../fixtures/call-outcome.js";
import { answer, serveHttp2 } from "../fixtures/http2-server.js";

const { describe: describeRpc } = EnvironmentService.method;
const request = create(describeRpc.input);
const described = toBinary(describeRpc.output, create(describeRpc.output, { environment: "maths" }));

describe.runIf(hasOpenssl())("TLS", () => {
  const { authority, server: own, client } = makeCertificates();
  const clientCert = { certPem: client.cert, keyPem: client.key };
  const sessions = new Set<Http2Session>();
  const server = createSecureServer({ ...own, ca: authority, requestCert: true, rejectUnauthorized: true });
  const http1 = createHttpsServer({ ...own }, (_, response) => response.end("hello"));
  let url = "";
  let http1Url = "";

  beforeAll(async () => {
    server.on("session", (session) => sessions.add(session));
    server.on("sessionError", () => {});
    server.on("stream", (stream) => {
      stream.on("error", () => {});
      stream.resume();
      stream.on("end", () => answer(stream, [described]));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    await new Promise<void>((resolve) => http1.listen(0, "127.0.0.1", resolve));
    url = `https://localhost:${(server.address() as AddressInfo).port}`;
    http1Url = `https://localhost:${(http1.address() as AddressInfo).port}`;
  });

  afterAll(() => {
    for (const session of sessions) session.destroy();
    server.close();
    http1.closeAllConnections();
    http1.close();
  });

  describe.each(BOTH_CHANNELS)("%s channel", (_, open) => {
    it("trusts the authority it is given, and shows its own certificate", async () => {
      await using channel = open({ url, caPem: authority, clientCert });
      expect((await channel.unary(describeRpc, request)).message.environment).toBe("maths");
    });

    it("does not trust an authority that it does not know", async () => {
      await using channel = open({ url, clientCert });
      const error = await errorOf(channel.unary(describeRpc, request));
      expect(error).toMatchObject({ code: Code.Unavailable, delivery: Delivery.NOT_SENT });
      expect(error.message).toContain("is not trusted");
      expect(error.message).toContain(url);
    });

    it("is turned away without a certificate of its own", async () => {
      await using channel = open({ url, caPem: authority });
      const error = await errorOf(channel.unary(describeRpc, request));
      expect(error).toMatchObject({ code: Code.Unavailable, delivery: Delivery.NOT_SENT });
    });

    it("says that a server speaks no TLS", async () => {
      await using plain = await serveHttp2(({ stream }) => answer(stream, [described]));
      await using channel = open({
        url: plain.url.replace("http:", "https:").replace("127.0.0.1", "localhost"),
      });
      const error = await errorOf(channel.unary(describeRpc, request));
      expect(error).toMatchObject({ code: Code.Unavailable, delivery: Delivery.NOT_SENT });
      expect(error.message).toContain("speaks no TLS: use http://");
      expect(error.message).not.toContain("ssl3_record.c");
    });

    it("says that a server wants TLS", async () => {
      await using channel = open({ url: url.replace("https:", "http:") });
      const error = await errorOf(channel.unary(describeRpc, request));
      expect(error).toMatchObject({ code: Code.Unavailable, delivery: Delivery.NOT_SENT });
      expect(error.message).toContain("wants https://");
    });

    it("says that a TLS server has no HTTP/2", async () => {
      await using channel = open({ url: http1Url, caPem: authority });
      const error = await errorOf(channel.unary(describeRpc, request));
      expect(error).toMatchObject({ code: Code.Unavailable, delivery: Delivery.NOT_SENT });
      expect(error.message).toMatch(/HTTP\/2/);
    });
  });
});

describe.each(BOTH_CHANNELS)("%s channel over a socket file", (name, open) => {
  it("calls a server there", async () => {
    const path = join(tmpdir(), `touchstone-${process.pid}-${name}.sock`);
    await using _server = await serveHttp2(({ stream }) => answer(stream, [described]), {}, path);
    await using channel = open({ url: `unix://${path}` });
    expect((await channel.unary(describeRpc, request)).message.environment).toBe("maths");
  });

  it("says that there is none", async () => {
    await using channel = open({ url: "unix:///tmp/touchstone-nowhere.sock" });
    const error = await errorOf(channel.unary(describeRpc, request));
    expect(error).toMatchObject({ code: Code.Unavailable, delivery: Delivery.NOT_SENT });
    expect(error.message).toContain("no such socket file");
  });
});
