import { describe, expect, it } from "vitest";
import { ManualClock } from "../../test/manual-clock.js";
import { Keepalive } from "./keepalive.js";

/** A watched connection whose peer answers pings as long as it is told to. */
function watched(options: { readonly answers: boolean; readonly pingsPerSilence?: number }) {
  const clock = new ManualClock();
  const pings: number[] = [];
  const deaths: number[] = [];
  const keepalive = new Keepalive({
    clock,
    intervalMs: 20_000,
    timeoutMs: 5_000,
    pingsPerSilence: options.pingsPerSilence ?? 3,
    ping: (answered) => {
      pings.push(clock.now());
      if (options.answers) answered();
    },
    dead: () => deaths.push(clock.now()),
  });
  return { clock, pings, deaths, keepalive };
}

describe("Keepalive", () => {
  it("field-case-054: a silent peer that does not answer is dead", () => {
    const { clock, pings, deaths, keepalive } = watched({ answers: false });
    keepalive.start();
    clock.advance(60_000);
    expect(pings).toEqual([20_000]);
    expect(deaths).toEqual([25_000]);
  });

  it("field-case-010: pings a silent peer that answers three times, then rarely, as servers demand", () => {
    const { clock, pings, deaths, keepalive } = watched({ answers: true });
    keepalive.start();
    clock.advance(700_000);
    expect(pings).toEqual([20_000, 40_000, 60_000, 365_000, 670_000]);
    expect(deaths).toEqual([]);
  });

  it("pings on at its pace where that was asked", () => {
    const { clock, pings, keepalive } = watched({ answers: true, pingsPerSilence: Number.POSITIVE_INFINITY });
    keepalive.start();
    clock.advance(120_000);
    expect(pings).toEqual([20_000, 40_000, 60_000, 80_000, 100_000, 120_000]);
  });

  it("leaves a peer alone that says something", () => {
    const { clock, pings, keepalive } = watched({ answers: true });
    keepalive.start();
    for (let count = 0; count < 20; count++) {
      clock.advance(15_000);
      keepalive.heard();
    }
    expect(pings).toEqual([]);
  });

  it("a peer that sends is not dead, even if its answer to the ping is late", () => {
    const { clock, pings, deaths, keepalive } = watched({ answers: false });
    keepalive.start();
    clock.advance(21_000);
    expect(pings).toEqual([20_000]);
    keepalive.heard();
    clock.advance(10_000);
    expect(deaths).toEqual([]);
  });

  it("is quiet without calls, and tries a connection that was silent for long at the next one", () => {
    const { clock, pings, deaths, keepalive } = watched({ answers: false });
    keepalive.start();
    keepalive.stop();
    clock.advance(3_600_000);
    expect(pings).toEqual([]);
    keepalive.start();
    expect(pings).toEqual([3_600_000]);
    clock.advance(5_000);
    expect(deaths).toEqual([3_605_000]);
  });
});
