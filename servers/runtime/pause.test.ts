import { expect, describe as group, it } from "vitest";
import { ManualClock } from "../../test/manual-clock.js";
import { pause } from "./pause.js";

group("A pause", () => {
  it("ends after its time and leaves nothing behind", async () => {
    const clock = new ManualClock();
    const waited = pause(100, { clock });
    clock.advance(99);
    expect(clock.timers).toBe(1);
    clock.advance(1);
    await waited;
    expect(clock.timers).toBe(0);
  });

  it("throws its signal's reason, also where that aborted before", async () => {
    const clock = new ManualClock();
    const leave = new AbortController();
    const waiting = pause(100, { clock, signal: leave.signal });
    leave.abort("enough");
    await expect(waiting).rejects.toBe("enough");
    await expect(pause(100, { clock, signal: leave.signal })).rejects.toBe("enough");
    expect(clock.timers).toBe(0);
  });
});
