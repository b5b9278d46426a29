import { toBinary } from "@bufbuild/protobuf";
import { expect, describe as group, it } from "vitest";
import { http2Channel } from "../../clients/channel/http2-channel.js";
import { createClient } from "../../clients/client.js";
import { EnvironmentService, FailureKind, StepResponseSchema } from "../../gen/index.js";
import * as fixture from "./fixture.js";

const { seed, step, close } = fixture;
const limit = 4 << 20;

group("R11: sizes", () => {
  it("delivers an answer just under the limit, and records a larger one as failed, with both sizes (field-case-062)", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, fixture.seedRequest());
    f.controls.observation = "";
    const empty = await f.client.unary(step, fixture.stepRequest(0));
    const overhead = empty.message === undefined ? 0 : toBinary(StepResponseSchema, empty.message).length;
    // Lengths of that size take four bytes each where small ones take one: four messages lie around the text.
    const room = limit - overhead - 64;
    f.controls.observation = "x".repeat(room);
    const large = await f.client.unary(step, fixture.stepRequest(1));
    expect(large.error).toBeUndefined();
    f.controls.observation = "x".repeat(limit);
    const over = await f.client.unary(step, fixture.stepRequest(2));
    expect(over.error).toMatchObject({
      reason: "OPERATION_FAILED",
      failure: { kind: FailureKind.STEP_FAILED },
    });
    const told = JSON.parse(over.error?.failure?.detailsJson ?? "{}") as { limit: number; actual: number };
    expect(told.limit).toBe(limit);
    expect(told.actual).toBeGreaterThan(limit);
    expect((await f.client.unary(close, fixture.closeRequest())).message?.steps).toBe(3);
  });

  it("gives a caller no more than it declares, and more to one that does (ALL-DESC-009)", async () => {
    await using f = await fixture.startFixture({ maxMessageBytes: 8 << 20 });
    await f.client.unary(seed, fixture.seedRequest());
    f.controls.observation = "x".repeat(5 << 20);
    const undeclared = await f.client.unary(step, fixture.stepRequest(0));
    expect(undeclared.error).toMatchObject({ reason: "OPERATION_FAILED" });
    expect(JSON.parse(undeclared.error?.failure?.detailsJson ?? "{}")).toMatchObject({ limit });

    const channel = http2Channel({ url: f.server.url }, { maxMessageBytes: 8 << 20 });
    const client = createClient(EnvironmentService, channel);
    try {
      await client.seed(fixture.seedRequest("s2"));
      const declared = await client.step(fixture.stepRequest(0, "go", "s2"));
      expect(declared.outcomes).toHaveLength(1);
      // The same answer, asked for again by a caller that takes less.
      const replayed = await f.client.unary(step, fixture.stepRequest(0, "go", "s2"));
      expect(replayed.error).toMatchObject({
        reason: "MESSAGE_TOO_LARGE",
        metadata: { limit: String(limit) },
      });
    } finally {
      await channel.close();
    }
    const small = { metadata: { "touchstone-max-message": "1000" } };
    await f.client.unary(seed, fixture.seedRequest("s3"));
    f.controls.observation = "x".repeat(2000);
    // It declares more, never less: metadata does not decide how an operation ends (R2).
    expect((await f.client.unary(step, fixture.stepRequest(0, "go", "s3"), small)).error).toBeUndefined();
    const bad = { metadata: { "touchstone-max-message": "much" } };
    expect((await f.client.unary(step, fixture.stepRequest(1), bad)).error?.fields).toEqual([
      "touchstone-max-message",
    ]);
  });

  it("serves a request just under the limit and refuses a larger one alone; the connection lives on", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, fixture.seedRequest());
    expect(
      (await f.client.unary(step, fixture.stepRequest(0, "x".repeat(limit - 1024)))).error,
    ).toBeUndefined();
    const over = await f.client.unary(step, fixture.stepRequest(1, "x".repeat(limit + (1 << 20))));
    expect(over.error?.code).toBe("RESOURCE_EXHAUSTED");
    expect((await f.client.unary(step, fixture.stepRequest(1))).message?.stepIndex).toBe(1);
  });

  it("keeps receipts small whatever went before (ALL-SIZE-002)", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, fixture.seedRequest());
    for (let i = 0; i < 3; i += 1) await f.client.unary(step, fixture.stepRequest(i, "x".repeat(3 << 20)));
    const receipt = await f.client.unary(close, fixture.closeRequest());
    expect(
      JSON.stringify(receipt.message, (_key, value: unknown) => (typeof value === "bigint" ? 0 : value))
        .length,
    ).toBeLessThan(4096);
  });
});

group("limits of a task", () => {
  it("truncates at max_steps, apart from terminated; the ending step replays, another is EPISODE_ENDED", async () => {
    await using f = await fixture.startFixture();
    const limited = fixture.seedRequest("s1", {
      limits: { $typeName: "touchstone.v1.TaskLimits", maxSteps: 2 },
    });
    expect((await f.client.unary(seed, limited)).message?.session?.limits?.maxSteps).toBe(2);
    const first = await f.client.unary(step, fixture.stepRequest(0));
    expect(first.message).toMatchObject({ terminated: false, truncated: false, nextAgents: ["agent"] });
    const last = await f.client.unary(step, fixture.stepRequest(1));
    expect(last.message).toMatchObject({
      terminated: false,
      truncated: true,
      nextAgents: [],
      outcomes: [{ truncated: true }],
    });
    expect((await f.client.unary(step, fixture.stepRequest(2))).error?.reason).toBe("EPISODE_ENDED");
    expect((await f.client.unary(step, fixture.stepRequest(1))).message).toEqual(last.message);
  });
});
