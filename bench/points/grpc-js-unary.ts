import { flatMessages } from "../echo/flat-messages.js";
import { unaryEcho } from "../echo/grpc-js-echo.js";
import { stepBytes } from "../world/step-messages.js";
import type { Point } from "./point.js";

/** Plain grpc-js: unary calls with messages as large as Step's. */
export const point: Point = unaryEcho(flatMessages(stepBytes()));
