import { connect } from "node:http2";
import { countedSession } from "../echo/counted-session.js";
import { callHeaders, FrameCutter, framed, serveHttp2 } from "../echo/http2-frames.js";
import { NextAnswer } from "../echo/next-answer.js";
import { payloads } from "../echo/payload.js";
import { stepStreamBytes } from "../world/step-messages.js";
import type { Point } from "./point.js";

const bytes = stepStreamBytes();
const { request, reply, check } = payloads(bytes);

/** Streams shaped as bidirectional gRPC on node:http2 alone, no codec. */
export const point: Point = {
  serve: () =>
    serveHttp2((stream) => {
      const frames = new FrameCutter(bytes.request);
      stream.on("data", (chunk: Buffer) => frames.push(chunk, (one) => stream.write(framed(reply(one)))));
      stream.on("end", () => stream.end());
    }),
  async connect(address) {
    const session = connect(address);
    return async () => {
      const stream = session.request(callHeaders);
      const frames = new FrameCutter(bytes.response);
      const answer = new NextAnswer<Buffer>();
      stream.on("data", (chunk: Buffer) => frames.push(chunk, (one) => answer.take(one)));
      stream.on("error", (error) => answer.fail(error));
      return countedSession(
        async (index) => check(await answer.after(() => stream.write(framed(request(index)))), index),
        () => void stream.end(),
      );
    };
  },
};
