import { describe, expect, it } from "vitest";
import type { Measurement } from "../run/measurement.js";
import { documentOf } from "./document.js";
import { median } from "./figures.js";
import { printed } from "./print.js";

const rates = (perSecond: number, foreignCores = 0) => ({
  perSecond,
  p50Us: 10,
  p99Us: 20,
  serverCpuUs: 5,
  clientCpuUs: null,
  foreignCores,
});

const tries = (point: string, mode: "steps" | "create", sessions: number, speeds: number[]): Measurement[] =>
  speeds.map((perSecond, attempt) => ({ point, mode, sessions, attempt, ...rates(perSecond) }));

const about = {
  date: "2026-01-01T00:00:00Z",
  version: "0",
  options: { tries: 3, seconds: 1, warmSeconds: 1 },
  machine: {
    processor: "some processor",
    cores: 2,
    memoryMegabytes: 1,
    kernel: "k",
    node: "v20",
    loadBefore: 0,
    loadAfter: 0,
  },
  skipped: [{ name: "openenv", reason: "no python" }],
  dominant: [{ point: "step", side: "server", sessions: 64, parts: "node:http2 30.0 %" }] as const,
};

const measurements: Measurement[] = [
  ...tries("step-stream", "steps", 64, [100, 300, 150]),
  ...tries("grpc-js-bidi", "steps", 64, [90, 100, 400]),
  ...tries("step", "create", 16, [2000, 2400]),
  {
    point: "step",
    mode: "idle",
    sessions: 10_000,
    attempt: 0,
    open: 10_000,
    emptyMegabytes: 80,
    megabytes: 180,
    growthMegabytes: 100,
  },
  { point: "episodes", mode: "steps", sessions: 64, attempt: 0, error: "it broke" },
];

describe("the document", () => {
  const document = documentOf(measurements, about);

  it("divides medians, not means or bests", () => {
    expect(document.ratios.stepStream64ToGrpcJsBidi).toBe(1.5);
    expect(document.ratios.stepToGrpcJsUnary).toBeNull();
  });

  it("holds the headline figures, and null for what was not measured", () => {
    expect(document.sessionsOpenedPerSecond).toBe(2200);
    expect(document.idleSessionsMegabytes).toBe(100);
    expect(document.episodesPerSecond).toBeNull();
  });

  it("says of each goal by how much it is met or missed", () => {
    const margins = document.goals.map(({ met, marginPercent }) => [met, marginPercent]);
    expect(margins).toEqual([
      [true, 50],
      [null, null],
      [null, null],
      [null, null],
      [null, null],
      [false, -27],
      [true, 33],
    ]);
  });

  it("keeps every try, and prints what failed and what was skipped", () => {
    expect(document.figures.flatMap((figure) => figure.tries)).toEqual(measurements);
    const text = printed(document);
    expect(text).toContain("FAILED episodes steps @64: it broke");
    expect(text).toContain("step @64, server: node:http2 30.0 %");
    expect(text).toContain("SKIPPED openenv: no python");
    expect(text).toMatch(/sessions opened .*2,200 .*MISSED .*-27 %/);
  });
});

describe("a run beside other work", () => {
  const run = (foreign: readonly number[]) =>
    documentOf(
      foreign.map((cores, attempt) => ({
        ...{ point: "step", mode: "steps", sessions: 1, attempt },
        ...rates(10, cores),
      })),
      about,
    );

  it("says that it was disturbed", () => {
    expect(run([0.1, 0.9, 1.2]).foreignCores).toBe(0.9);
    expect(printed(run([0.1, 0.9, 1.2]))).toContain("DISTURBED: other work kept 0.9 cores busy");
    expect(printed(run([0.1, 0.1, 1.2]))).not.toContain("DISTURBED");
  });
});

describe("median", () => {
  it("is the middle, or between the two in the middle", () => {
    expect(median([3, 1, 2])).toBe(2);
    expect(median([4, 1, 3, 2])).toBe(2.5);
    expect(median([5])).toBe(5);
    expect(median([])).toBeUndefined();
  });
});
