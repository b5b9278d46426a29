import { once } from "node:events";
import { connect as http2Connect } from "node:http2";
import { connect } from "node:net";
import { afterEach, expect, it } from "vitest";
import { ProbeService } from "../../../test/transport/gen/transport/probe/v1/probe_pb.js";
import { ProbeClient } from "../../../test/transport/probe-client.js";
import { serviceRoute } from "../grpc/service-route.js";
import { openPort, type Port } from "./index.js";

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function open(): Promise<Port> {
  const routes = [serviceRoute(ProbeService, { unary: ({ text }) => ({ text }) })];
  const keepalive = { intervalMs: 20, timeoutMs: 100 };
  const port = await openPort({ routes, host: "127.0.0.1", port: 0, keepalive });
  cleanups.push(() => port.close({ graceMs: 0 }));
  return port;
}

it("ends a connection whose peer has fallen silent", async () => {
  const { port } = await open();
  const socket = connect(port, "127.0.0.1");
  cleanups.push(() => void socket.destroy());
  // HTTP/2's preface and an empty SETTINGS frame, and then nothing: pings stay unanswered.
  socket.write(
    Buffer.concat([
      Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
      Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]),
    ]),
  );
  await once(socket.resume(), "close");
});

it("leaves an idle connection alone whose peer answers", async () => {
  const { url } = await open();
  const session = http2Connect(url);
  cleanups.push(() => session.destroy());
  await once(session, "ping");
  await once(session, "ping");
  await once(session, "ping");
  expect(session.closed).toBe(false);
  const client = new ProbeClient(url);
  cleanups.push(() => client.close());
  expect((await client.unary({ text: "alive" })).answer?.text).toBe("alive");
});
