import { http2Channel } from "../../clients/index.js";
import { serveCounter } from "../world/counter-server.js";
import type { Point } from "./point.js";
import { unarySession } from "./step.js";

/** Sessions that come each with a connection of its own, as those of peers over WebSocket do. */
export const point: Point = {
  serve: serveCounter,
  connect: async (url) => async () => {
    const channel = http2Channel({ url });
    const session = unarySession(channel);
    return {
      reset: () => session.reset(),
      step: () => session.step(),
      async close() {
        await session.close();
        await channel.close();
      },
    };
  },
};
