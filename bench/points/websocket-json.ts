import { once } from "node:events";
import { type RawData, WebSocket, WebSocketServer } from "ws";
import { countedSession } from "../echo/counted-session.js";
import { jsonPayloads } from "../echo/json-payload.js";
import { NextAnswer } from "../echo/next-answer.js";
import { stepStreamBytes } from "../world/step-messages.js";
import type { Point } from "./point.js";

const payloads = jsonPayloads(stepStreamBytes());
const textOf = (data: RawData): string =>
  Buffer.isBuffer(data) ? data.toString("utf8") : Buffer.concat([data].flat() as Buffer[]).toString("utf8");

/** JSON over WebSocket by the package `ws`, a connection for each session. */
export const point: Point = {
  async serve() {
    const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
    server.on("connection", (socket) => {
      socket.on("message", (data) => socket.send(payloads.reply(textOf(data))));
    });
    await once(server, "listening");
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("expected a TCP port, found none");
    return {
      address: `ws://127.0.0.1:${address.port}`,
      async close() {
        for (const socket of server.clients) socket.terminate();
        server.close();
      },
    };
  },
  connect: async (address) => async () => {
    const socket = new WebSocket(address);
    const answer = new NextAnswer<string>();
    socket.on("message", (data) => answer.take(textOf(data)));
    socket.on("error", (error) => answer.fail(error));
    await once(socket, "open");
    return countedSession(
      async (index) => payloads.check(await answer.after(() => socket.send(payloads.request(index))), index),
      () => socket.close(),
    );
  },
};
