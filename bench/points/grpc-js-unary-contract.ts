import { stepMessages } from "../echo/contract-messages.js";
import { unaryEcho } from "../echo/grpc-js-echo.js";
import type { Point } from "./point.js";

/** grpc-js with the contract's own messages, built and read as ours are, and no rules behind them. */
export const point: Point = unaryEcho(stepMessages);
