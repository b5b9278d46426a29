import { MANY } from "../plan.js";
import type { Figure } from "./figures.js";

/** Finds the median rate of a point, where it was measured. */
export type RateOf = (point: string, sessions: number) => number | undefined;

/** The median rate of steps of each point. */
export function rates(figures: readonly Figure[]): RateOf {
  return (point, sessions) =>
    figures.find((one) => one.point === point && one.mode === "steps" && one.sessions === sessions)?.median
      ?.perSecond;
}

/** What is divided by what: two points, at the same number of sessions. */
const divisions = {
  stepStream64ToGrpcJsBidi: ["step-stream", "grpc-js-bidi", MANY],
  stepToGrpcJsUnary: ["step", "grpc-js-unary", MANY],
  stepStream64ToWebSocketJson: ["step-stream", "websocket-json", MANY],
  stepToHttpJson: ["step", "http-json", MANY],
  stepStream1ToGrpcJsBidi: ["step-stream", "grpc-js-bidi", 1],
  step1ToGrpcJsUnary: ["step", "grpc-js-unary", 1],
  stepStream64ToGrpcJsBidiContract: ["step-stream", "grpc-js-bidi-contract", MANY],
  stepToGrpcJsUnaryContract: ["step", "grpc-js-unary-contract", MANY],
  stepStream64ToHttp2Stream: ["step-stream", "http2-echo-stream", MANY],
  stepToHttp2Unary: ["step", "http2-echo-unary", MANY],
  stepStream64ToOpenEnv: ["step-stream", "openenv", MANY],
} as const satisfies Record<string, readonly [string, string, number]>;

/** Name of a ratio. */
export type RatioName = keyof typeof divisions;

/** Ratios of medians over interleaved tries; null where one of the two was not measured. */
export type Ratios = Readonly<Record<RatioName, number | null>>;

/** All ratios, of steps a second. */
export function ratiosOf(figures: readonly Figure[]): Ratios {
  const rate = rates(figures);
  const entries = Object.entries(divisions).map(([name, [above, below, sessions]]) => {
    const [a, b] = [rate(above, sessions), rate(below, sessions)];
    return [name, a === undefined || b === undefined ? null : Math.round((a / b) * 1000) / 1000];
  });
  return Object.fromEntries(entries) as Ratios;
}
