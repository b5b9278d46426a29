import { flatMessages } from "../echo/flat-messages.js";
import { bidiEcho } from "../echo/grpc-js-echo.js";
import { stepStreamBytes } from "../world/step-messages.js";
import type { Point } from "./point.js";

/** Plain grpc-js: bidirectional streams with messages as large as StepStream's. */
export const point: Point = bidiEcho(flatMessages(stepStreamBytes()));
