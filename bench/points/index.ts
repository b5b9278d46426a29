import type { Point } from "./point.js";

type Load = () => Promise<{ readonly point: Point }>;

/** Our points and the echoes by name. Each is loaded alone, so that a process holds nothing of the others. */
const points = {
  step: () => import("./step.js"),
  "step-grpc-js-client": () => import("./step-grpc-js-client.js"),
  "step-stream": () => import("./step-stream.js"),
  "step-stream-grpc-js-client": () => import("./step-stream-grpc-js-client.js"),
  "own-connection": () => import("./own-connection.js"),
  episodes: () => import("./episodes.js"),
  "episodes-apart": () => import("./episodes-apart.js"),
  "http2-echo-unary": () => import("./http2-echo-unary.js"),
  "http2-echo-stream": () => import("./http2-echo-stream.js"),
  "grpc-js-unary": () => import("./grpc-js-unary.js"),
  "grpc-js-unary-contract": () => import("./grpc-js-unary-contract.js"),
  "grpc-js-bidi": () => import("./grpc-js-bidi.js"),
  "grpc-js-bidi-contract": () => import("./grpc-js-bidi-contract.js"),
  "http-json": () => import("./http-json.js"),
  "websocket-json": () => import("./websocket-json.js"),
} satisfies Record<string, Load>;

/** Name of a point of this folder. */
export type PointName = keyof typeof points;

/** Names of all points of this folder. */
export const pointNames = Object.keys(points) as readonly PointName[];

/** @throws Error - No point has this name. */
export async function loadPoint(name: string | undefined): Promise<Point> {
  const known = pointNames.find((one) => one === name);
  if (known === undefined) {
    throw new Error(`expected one of ${pointNames.join(", ")}, found ${name ?? "nothing"}`);
  }
  return (await points[known]()).point;
}
