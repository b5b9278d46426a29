import { expect, describe as group, it } from "vitest";
import * as fixture from "./fixture.js";

const { seed, step, verify } = fixture;

const malformed = [
  { seconds: 1n, nanos: -1 },
  { seconds: -1n, nanos: 0 },
  { seconds: 0n, nanos: 1_000_000_000 },
  { seconds: 315_576_000_001n, nanos: 0 },
  { seconds: 2n ** 63n - 1n, nanos: 0 },
];

group("durations of requests", () => {
  it("refuses a malformed one by its path, and nothing happens", async () => {
    await using f = await fixture.startFixture();
    const limits = { $typeName: "touchstone.v1.TaskLimits" as const };
    for (const duration of malformed) {
      const asked = async (change: object) =>
        (await f.client.unary(seed, { ...fixture.seedRequest(), ...change })).error;
      expect(await asked({ timeout: duration })).toMatchObject({
        reason: "INVALID_FIELD",
        fields: ["timeout"],
      });
      expect((await asked({ lease: duration }))?.fields).toEqual(["lease"]);
      const nested = fixture.seedRequest("s1", {
        limits: { ...limits, verifyTimeout: { $typeName: "google.protobuf.Duration", ...duration } },
      });
      expect((await f.client.unary(seed, nested)).error?.fields).toEqual(["task.limits.verify_timeout"]);
    }
    expect(f.controls.counts.seed).toBe(0);
    await f.client.unary(seed, fixture.seedRequest());
    for (const duration of malformed) {
      const stepped = await f.client.unary(step, { ...fixture.stepRequest(0), timeout: duration });
      expect(stepped.error?.fields).toEqual(["timeout"]);
      const judged = await f.client.stream(verify, { ...fixture.verifyRequest(0), timeout: duration });
      expect(judged.error?.fields).toEqual(["timeout"]);
    }
    expect(f.controls.counts).toMatchObject({ step: 0, verify: 0 });
    expect((await f.client.unary(step, fixture.stepRequest(0))).message?.stepIndex).toBe(0);
  });
});
