import { describe, expect, it } from "vitest";
import type { Measurement } from "./measurement.js";
import { runTries } from "./run-tries.js";
import type { Job } from "./target.js";

/** A load that prints what the protocol wants, with this rate. */
const load = (rate: number) => ({
  program: process.execPath,
  args: [
    "-e",
    `console.log('{"ready": true}');
     console.log(JSON.stringify({ steps_per_s: ${rate}, p50_us: 1, p99_us: 2, sessions: 1, total: 10 }));
     process.stdin.resume().on("end", () => process.exit(0));`,
  ],
});
const server = {
  program: process.execPath,
  args: [
    "-e",
    `console.log("hello"); console.log('{"address": "here"}'); process.stdin.resume().on("end", () => process.exit(0));`,
  ],
};
const options = { cores: { server: undefined, load: undefined }, seconds: 1, warmSeconds: 1 };

describe("tries", () => {
  it("are interleaved, in the opposite order every other time; what fails is told", async () => {
    const jobs: Job[] = [
      { target: { name: "a", side: "ours", server, load: load(100) }, mode: "steps", sessions: 1 },
      { target: { name: "b", side: "echo", server: undefined, load: load(200) }, mode: "steps", sessions: 1 },
      { target: { name: "none", side: "peer", server, load: load(0) }, mode: "steps", sessions: 1 },
    ];
    const told: Measurement[] = [];
    const measured = await runTries(jobs, { ...options, tries: 2, onMeasured: (one) => told.push(one) });
    expect(measured.map(({ point, attempt }) => `${point}${attempt}`)).toEqual([
      "a0",
      "b0",
      "none0",
      "none1",
      "b1",
      "a1",
    ]);
    expect(told).toEqual(measured);
    expect(measured[0]).toMatchObject({ perSecond: 100, p50Us: 1, p99Us: 2 });
    expect(measured[2]).toMatchObject({ error: expect.stringContaining("steps_per_s above 0") });
  });

  it("tell what a program that broke wrote", async () => {
    const broken = {
      program: process.execPath,
      args: ["-e", `console.error("no such thing"); process.exit(3)`],
    };
    const jobs: Job[] = [
      { target: { name: "a", side: "ours", server: broken, load: broken }, mode: "steps", sessions: 1 },
    ];
    const [measured] = await runTries(jobs, { ...options, tries: 1, onMeasured() {} });
    expect(measured).toMatchObject({ error: expect.stringMatching(/ended with 3: .*no such thing/s) });
  });
});
