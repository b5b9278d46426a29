import { Code, ConnectError } from "@connectrpc/connect";

const MILLISECONDS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1_000,
  m: 1,
  u: 0.001,
  n: 0.000_001,
};

/** Node fires longer timers at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Reads `grpc-timeout`.
 *
 * @returns Milliseconds, or undefined without the header.
 * @throws ConnectError - INVALID_ARGUMENT for anything but one to eight digits and a unit.
 */
export function parseGrpcTimeout(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const match = /^(\d{1,8})([HMSmun])$/.exec(value);
  const unit = MILLISECONDS[match?.[2] ?? ""];
  if (match === null || unit === undefined) {
    throw new ConnectError(
      `protocol error: expected grpc-timeout as one to eight digits and a unit of H, M, S, m, u or n, found "${value}"`,
      Code.InvalidArgument,
    );
  }
  return Number(match[1]) * unit;
}

/**
 * Node keeps a list per timer length, and the time-outs of calls all differ: rounding longer ones up, by at most
 * 1.6 %, saves some microseconds a call. A client's own deadline is exact.
 */
const COARSE_FROM_MS = 1_000;
const COARSE_STEP_MS = 16;

/** A timer of any length; the process may end before it fires. */
export interface DeadlineTimer {
  stop(): void;
}

/** Calls `onDeadline` once `milliseconds` have passed, however many they are. */
export function startDeadline(milliseconds: number, onDeadline: () => void): DeadlineTimer {
  const end = performance.now() + milliseconds;
  let timer: NodeJS.Timeout;
  const arm = (wait: number): void => {
    timer = setTimeout(
      () => {
        const left = end - performance.now();
        // Timers may fire a fraction of a millisecond early: only a real rest is waited for again.
        if (left > 1) arm(left);
        else onDeadline();
      },
      Math.min(coarse(wait), LONGEST_TIMER_MS),
    );
    timer.unref();
  };
  arm(milliseconds);
  return { stop: () => clearTimeout(timer) };
}

function coarse(milliseconds: number): number {
  return milliseconds < COARSE_FROM_MS
    ? milliseconds
    : Math.ceil(milliseconds / COARSE_STEP_MS) * COARSE_STEP_MS;
}
