import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { systemClock } from "./clock.js";

describe("systemClock", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("sets a timer off once, and takes one back", () => {
    const kept = vi.fn();
    const taken = vi.fn();
    systemClock.setTimer(50, kept);
    systemClock.setTimer(50, taken).cancel();
    vi.advanceTimersByTime(49);
    expect(kept).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1_000);
    expect(kept).toHaveBeenCalledTimes(1);
    expect(taken).not.toHaveBeenCalled();
  });

  it("waits longer than Node's own timers can", () => {
    const month = 30 * 24 * 3_600_000;
    const kept = vi.fn();
    const taken = vi.fn();
    systemClock.setTimer(month, kept);
    const timer = systemClock.setTimer(month, taken);
    vi.advanceTimersByTime(month - 1);
    expect(kept).not.toHaveBeenCalled();
    timer.cancel();
    vi.advanceTimersByTime(1);
    expect(kept).toHaveBeenCalledTimes(1);
    expect(taken).not.toHaveBeenCalled();
  });
});
