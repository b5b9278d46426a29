import { grpcJsChannel } from "../../clients/index.js";
import { serveCounter } from "../world/counter-server.js";
import type { Point } from "./point.js";
import { streamSessions } from "./step-stream.js";

/** StepStream over grpc-js's client. */
export const point: Point = {
  serve: serveCounter,
  connect: async (url) => streamSessions(grpcJsChannel({ url })),
};
