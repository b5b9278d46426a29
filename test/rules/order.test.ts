import { expect, describe as group, it } from "vitest";
import { FailureKind } from "../../gen/index.js";
import * as fixture from "./fixture.js";
import { nextIndexFailure } from "./gated-world.js";

const { seed, step, verify, close, keepAlive, describe } = fixture;

group("R3: order", () => {
  it("refuses a gap with the index that it expects, and nothing happens", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, fixture.seedRequest());
    const gap = await f.client.unary(step, fixture.stepRequest(1));
    expect(gap.error).toMatchObject({
      code: "FAILED_PRECONDITION",
      reason: "OUT_OF_ORDER",
      metadata: { expected_index: "0" },
      failure: undefined,
    });
    expect((await f.client.stream(verify, fixture.verifyRequest(2))).error?.metadata).toEqual({
      expected_index: "0",
    });
    expect((await f.client.unary(step, fixture.stepRequest(0))).error).toBeUndefined();
    expect((await f.client.unary(step, fixture.stepRequest(1))).error).toBeUndefined();
    expect((await f.client.stream(verify, fixture.verifyRequest(0))).error).toBeUndefined();
  });

  it("lets the next operation of a session wait; it never overtakes, and a repeat never waits", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, fixture.seedRequest());
    await f.client.unary(step, fixture.stepRequest(0));
    f.controls.step.shut();
    const ended: string[] = [];
    const note = (name: string) => (): void => void ended.push(name);
    const slow = f.client.unary(step, fixture.stepRequest(1)).finally(note("step 1"));
    await f.controls.step.arrived(2);
    const next = f.client.unary(step, fixture.stepRequest(2)).finally(note("step 2"));
    const judged = f.client
      .stream(verify, fixture.verifyRequest(0, { final: false }))
      .finally(note("verify"));
    await f.another().unary(step, fixture.stepRequest(0)).finally(note("replay"));
    expect(f.controls.counts).toMatchObject({ step: 2, verify: 0 });
    f.controls.step.open();
    await Promise.all([slow, next, judged]);
    expect(ended).toEqual(["replay", "step 1", "step 2", "verify"]);
  });

  it("does not take a step whose caller left before its turn (ALL-ADM-003)", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, fixture.seedRequest());
    f.controls.step.shut();
    const first = f.client.unary(step, fixture.stepRequest(0));
    await f.controls.step.arrived(1);
    const left = await f.client.unary(step, fixture.stepRequest(1), {
      onCall: (call) => void f.client.unary(fixture.describe, {}).then(() => call.cancel()),
    });
    expect(left.error?.code).toBe("CANCELLED");
    await f.client.unary(fixture.describe, {});
    f.controls.step.open();
    expect((await first).error).toBeUndefined();
    await f.client.unary(fixture.describe, {});
    expect(f.controls.counts.step).toBe(1);
    // Nothing was done under its number.
    const { message, delivery } = await f.client.unary(step, fixture.stepRequest(1, "other"));
    expect([message?.stepIndex, delivery]).toEqual([1, "started"]);
  });

  it("does not begin a verification whose readers all left while it waited; one who came back is served (ALL-ADM-003)", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, fixture.seedRequest());
    f.controls.step.shut();
    const slow = f.client.unary(step, fixture.stepRequest(0));
    await f.controls.step.arrived(1);
    const request = fixture.verifyRequest(0, { final: false });
    const readers: { cancel(): void }[] = [];
    const read = () => f.client.stream(verify, request, { onCall: (call) => readers.push(call) });
    const left = [read(), read()];
    await f.client.unary(describe, {});
    for (const reader of readers) reader.cancel();
    await Promise.all(left);
    await f.client.unary(describe, {});
    f.controls.step.open();
    await slow;
    await f.client.unary(step, fixture.stepRequest(1));
    expect(f.controls.counts.verify).toBe(0);
    f.controls.step.shut();
    const slower = f.client.unary(step, fixture.stepRequest(2));
    await f.controls.step.arrived(3);
    const gone = read();
    await f.client.unary(describe, {});
    readers.at(-1)?.cancel();
    await gone;
    const back = read();
    await f.client.unary(describe, {});
    f.controls.step.open();
    await slower;
    expect((await back).messages.at(-1)?.event.case).toBe("result");
    expect(f.controls.counts.verify).toBe(1);
  });

  it("begins nothing beside work that has passed its timeout and has not stopped (ALL-ORDER-003)", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, fixture.seedRequest());
    f.controls.obedient = false;
    f.controls.verify.shut();
    const judged = f.client.stream(verify, {
      ...fixture.verifyRequest(0, { final: false }),
      timeout: { seconds: 1n },
    });
    await f.controls.verify.arrived(1);
    f.clock.advance(1000);
    const [terminal] = (await judged).messages.slice(-1);
    expect(terminal).toMatchObject({
      event: {
        case: "result",
        value: { outcome: { case: "failure", value: { kind: FailureKind.TIMEOUT } } },
      },
    });
    const early = f.client.unary(step, fixture.stepRequest(0));
    await f.client.unary(fixture.describe, {});
    f.clock.advance(10_000);
    expect((await early).error).toMatchObject({ code: "FAILED_PRECONDITION", reason: "SESSION_BUSY" });
    expect(f.controls.counts.step).toBe(0);
    const waiting = f.client.unary(step, fixture.stepRequest(0));
    await f.client.unary(fixture.describe, {});
    expect(f.controls.counts.step).toBe(0);
    f.controls.verify.open();
    expect((await waiting).error).toBeUndefined();
    expect(f.controls.counts.step).toBe(1);
  });

  it("does not let sessions wait for each other", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, fixture.seedRequest("s1"));
    await f.client.unary(seed, fixture.seedRequest("s2"));
    f.controls.step.shut();
    const slow = f.client.unary(step, fixture.stepRequest(0, "go", "s1"));
    await f.controls.step.arrived(1);
    expect(
      (await f.client.stream(verify, fixture.verifyRequest(0, { sessionId: "s2" }))).error,
    ).toBeUndefined();
    f.controls.step.open();
    await slow;
  });

  it("uses up the index of a failed step, and then accepts only replays, reads, KeepAlive and Close", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, fixture.seedRequest());
    f.controls.failNext = { at: "step", error: new Error("boom") };
    const failed = await f.client.unary(step, fixture.stepRequest(0));
    expect(failed.error).toMatchObject({
      code: "INTERNAL",
      reason: "OPERATION_FAILED",
      failure: { kind: 2 },
    });
    expect((await f.client.unary(step, fixture.stepRequest(1))).error?.reason).toBe("SESSION_FAILED");
    expect((await f.client.stream(verify, fixture.verifyRequest(0))).error?.reason).toBe("SESSION_FAILED");
    expect((await f.client.unary(step, fixture.stepRequest(0))).error).toEqual(failed.error);
    const read = await f.client.unary(fixture.listTools, { sessionId: "s1", agentId: "agent" });
    expect(read.error).toBeUndefined();
    expect((await f.client.unary(keepAlive, { sessionId: "s1" })).error).toBeUndefined();
    const closed = await f.client.unary(close, fixture.closeRequest());
    expect(closed.message).toMatchObject({ steps: 1, receipt: { cleanupConfirmed: true } });
  });

  it("goes on at the next index after a failure that says so", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, fixture.seedRequest());
    f.controls.failNext = { at: "step", error: nextIndexFailure() };
    const failed = await f.client.unary(step, fixture.stepRequest(0));
    expect(failed.error).toMatchObject({ code: "ABORTED", reason: "OPERATION_FAILED" });
    expect((await f.client.unary(step, fixture.stepRequest(1))).message?.stepIndex).toBe(1);
  });

  it("leaves the session as it was after a failed Verify, and repeats a final one under the next index", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, fixture.seedRequest());
    f.controls.failNext = { at: "verify", error: new Error("boom") };
    const failed = await f.client.stream(verify, fixture.verifyRequest(0, { final: false }));
    expect(failed.messages.at(-1)?.event).toMatchObject({ value: { outcome: { case: "failure" } } });
    expect((await f.client.unary(step, fixture.stepRequest(0))).error).toBeUndefined();
    f.controls.failNext = { at: "verify", error: nextIndexFailure() };
    await f.client.stream(verify, fixture.verifyRequest(1, { answer: "kept" }));
    // The fence stays, and what was handed in first is verified again.
    expect((await f.client.unary(step, fixture.stepRequest(1))).error?.reason).toBe("EPISODE_ENDED");
    const again = await f.client.stream(verify, {
      target: { case: "session", value: { sessionId: "s1", verificationIndex: 2, final: true } },
    });
    expect(
      JSON.stringify(again.messages.at(-1)?.event.value, (_key, value: unknown) =>
        typeof value === "bigint" ? String(value) : value,
      ),
    ).toContain("kept");
    expect((await f.client.stream(verify, fixture.verifyRequest(3))).error?.reason).toBe("EPISODE_ENDED");
  });

  it("refuses calls before the session is there, naming what is missing (field-case-020)", async () => {
    await using f = await fixture.startFixture();
    const early = await f.client.unary(step, fixture.stepRequest(0));
    expect(early.error).toMatchObject({ code: "NOT_FOUND", reason: "SESSION_UNKNOWN" });
    expect((await f.client.stream(verify, fixture.verifyRequest(0))).error?.reason).toBe("SESSION_UNKNOWN");
    expect((await f.client.unary(keepAlive, { sessionId: "s1" })).error?.reason).toBe("SESSION_UNKNOWN");
    expect((await f.client.unary(seed, fixture.seedRequest())).error).toBeUndefined();
  });
});
