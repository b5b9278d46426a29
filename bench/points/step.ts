import { type Channel, environmentClient, http2Channel } from "../../clients/index.js";
import { serveCounter } from "../world/counter-server.js";
import { CounterSession } from "../world/counter-session.js";
import { checkStep, stepRequest } from "../world/step-messages.js";
import type { LoadSession, Point } from "./point.js";

/** A session that takes each step by a Step call. */
export function unarySession(channel: Channel): LoadSession {
  const session = new CounterSession(environmentClient(channel));
  return {
    async reset() {
      await session.close();
      await session.seed();
    },
    async step() {
      const answer = await session.client.step(stepRequest(session.id, session.index));
      const over = checkStep(answer, session.index);
      session.index += 1;
      return over;
    },
    close: () => session.close(),
  };
}

/** Step over the thin channel: all sessions of a load share one. */
export const point: Point = {
  serve: serveCounter,
  async connect(url) {
    const channel = http2Channel({ url });
    return async () => unarySession(channel);
  },
};
