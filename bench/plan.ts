import { join } from "node:path";
import type { PointName } from "./points/index.js";
import type { Job, Mode, Target } from "./run/target.js";

/** Sessions at once of the figures named after them. */
export const MANY = 64;
/** Workers that open and close sessions, and episodes in flight. */
export const WORKERS = 16;
/** Sessions that are held idle. */
export const IDLE = 10_000;

/** Figures that are taken of a point: mode and sessions at once. */
type Figures = readonly (readonly [Mode, number])[];

const one: Figures = [["steps", 1]];
const many: Figures = [["steps", MANY]];
const both: Figures = [...one, ...many];

/** Points of this folder, those that are compared beside each other. */
const plan: readonly (readonly [PointName, Target["side"], Figures])[] = [
  ["step-stream", "ours", both],
  ["grpc-js-bidi", "echo", both],
  ["websocket-json", "echo", both],
  ["grpc-js-bidi-contract", "echo", both],
  ["http2-echo-stream", "echo", both],
  ["step-stream-grpc-js-client", "ours", both],
  ["step", "ours", both],
  ["grpc-js-unary", "echo", both],
  ["http-json", "echo", both],
  ["grpc-js-unary-contract", "echo", both],
  ["http2-echo-unary", "echo", both],
  ["step-grpc-js-client", "ours", both],
  ["step", "ours", [["create", WORKERS]]],
  ["own-connection", "ours", [["create", WORKERS]]],
  ["episodes", "ours", [["steps", WORKERS]]],
  ["episodes-apart", "ours", [["steps", WORKERS]]],
  ["step", "ours", [["idle", IDLE]]],
];

/** A point of this folder as a target: its server and its load are scripts beside this one. */
export function ownTarget(name: PointName, side: Target["side"]): Target {
  const script = (file: string) => ({
    program: process.execPath,
    args: [join(import.meta.dirname, file), name],
  });
  return {
    name,
    side,
    server: name === "episodes" ? undefined : script("serve.js"),
    load: script("load.js"),
    unpinned: name === "episodes",
    tellsMemory: side === "ours",
  };
}

/** All figures of the points of this folder, in the order in which a try takes them. */
export function ownJobs(): readonly Job[] {
  return plan.flatMap(([name, side, figures]) => {
    const target = ownTarget(name, side);
    return figures.map(([mode, sessions]): Job => ({ target, mode, sessions }));
  });
}
