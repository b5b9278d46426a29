import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Meter } from "./meter.js";
import { warmSeconds } from "./task.js";

describe("a meter", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
  afterEach(() => void vi.useRealTimers());

  it("counts what ends in its window, and all for CPU time", () => {
    const meter = new Meter(2);
    const first = meter.begin() ?? Number.NaN;
    vi.advanceTimersByTime(warmSeconds * 1000 - 10);
    meter.add(first);
    const second = meter.begin() ?? Number.NaN;
    vi.advanceTimersByTime(30);
    meter.add(second);
    const third = meter.begin() ?? Number.NaN;
    vi.advanceTimersByTime(1000);
    meter.add(third);
    const fourth = meter.begin() ?? Number.NaN;
    vi.advanceTimersByTime(5000);
    meter.add(fourth);
    expect(meter.begin()).toBeUndefined();
    expect(meter.rate).toBe(1);
    expect(meter.counted(3)).toEqual({ p50_us: 1_000_000, p99_us: 1_000_000, sessions: 3, total: 4 });
  });

  it("holds more than it has room for at first", () => {
    const meter = new Meter(10);
    vi.advanceTimersByTime(warmSeconds * 1000 + 1);
    for (let i = 0; i < 70_000; i += 1) meter.add(meter.begin() ?? Number.NaN);
    expect(meter.rate).toBe(7000);
    expect(meter.counted(1)).toMatchObject({ p99_us: 0, total: 70_000 });
  });
});
