import { grpcJsChannel } from "../../clients/index.js";
import { serveCounter } from "../world/counter-server.js";
import type { Point } from "./point.js";
import { unarySession } from "./step.js";

/** Step over grpc-js's client, which most programs in Node have. */
export const point: Point = {
  serve: serveCounter,
  async connect(url) {
    const channel = grpcJsChannel({ url });
    return async () => unarySession(channel);
  },
};
