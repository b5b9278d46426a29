import { connect } from "node:http2";
import { countedSession } from "../echo/counted-session.js";
import { callHeaders, framed, messageOf, serveHttp2 } from "../echo/http2-frames.js";
import { payloads } from "../echo/payload.js";
import { stepBytes } from "../world/step-messages.js";
import type { Point } from "./point.js";

const { request, reply, check } = payloads(stepBytes());

/** Calls shaped as unary gRPC on node:http2 alone, no codec: the least that a call can cost there. */
export const point: Point = {
  serve: () =>
    serveHttp2((stream) => {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => stream.end(framed(reply(messageOf(chunks)))));
    }),
  async connect(address) {
    const session = connect(address);
    return async () =>
      countedSession(async (index) => {
        const stream = session.request(callHeaders);
        stream.end(framed(request(index)));
        const chunks: Buffer[] = [];
        await new Promise<void>((resolve, reject) => {
          stream.on("data", (chunk: Buffer) => chunks.push(chunk));
          stream.on("end", resolve);
          stream.on("error", reject);
        });
        check(messageOf(chunks), index);
      });
  },
};
