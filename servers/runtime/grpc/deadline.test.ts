import { Code, type ConnectError } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { parseGrpcTimeout, startDeadline } from "./deadline.js";

describe("parseGrpcTimeout", () => {
  it.each([
    ["1H", 3_600_000],
    ["2M", 120_000],
    ["3S", 3_000],
    ["99999999m", 99_999_999],
    ["500u", 0.5],
    ["0n", 0],
  ])("reads %s as %d ms", (value, milliseconds) => {
    expect(parseGrpcTimeout(value)).toBeCloseTo(milliseconds);
  });

  it("reads no header as no deadline", () => {
    expect(parseGrpcTimeout(undefined)).toBeUndefined();
  });

  it.each(["", "10", "m", "123456789m", "-1S", "1.5S", "1 S", "1s", "1S,1S"])("refuses %j", (value) => {
    expect(() => parseGrpcTimeout(value)).toThrowError(
      expect.objectContaining({ code: Code.InvalidArgument }) as ConnectError,
    );
  });
});

describe("startDeadline", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("does not fire early where Node's own timers would fire at once", () => {
    const days = 24 * 3_600_000;
    const onDeadline = vi.fn();
    startDeadline(100 * days, onDeadline);
    vi.advanceTimersByTime(99 * days);
    expect(onDeadline).not.toHaveBeenCalled();
    vi.advanceTimersByTime(days + 1_000);
    expect(onDeadline).toHaveBeenCalledTimes(1);
  });

  it("does not fire once stopped", () => {
    const onDeadline = vi.fn();
    startDeadline(1_000, onDeadline).stop();
    vi.advanceTimersByTime(2_000);
    expect(onDeadline).not.toHaveBeenCalled();
  });
});
