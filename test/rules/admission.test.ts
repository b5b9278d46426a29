import { expect, describe as group, it } from "vitest";
import { EnvironmentService, FailureKind } from "../../gen/index.js";
import { defineEnvironment } from "../../servers/environment/define-environment.js";
import * as fixture from "./fixture.js";

const { seed, step, verify, close } = fixture;

group("R12: admission", () => {
  it("refuses beyond capacity where there is no queue, records nothing, and lets held sessions go on", async () => {
    await using f = await fixture.startFixture({ maxSessions: 1 });
    await f.client.unary(seed, fixture.seedRequest("a"));
    const full = await f.client.unary(seed, fixture.seedRequest("b"));
    expect(full.error).toMatchObject({
      code: "RESOURCE_EXHAUSTED",
      reason: "CAPACITY",
      metadata: { limit: "1" },
    });
    expect(full.error?.retryAfterMs).toBeGreaterThan(0);
    expect((await f.client.unary(seed, fixture.seedRequest("a"))).delivery).toBe("replayed");
    expect((await f.client.unary(step, fixture.stepRequest(0, "go", "a"))).error).toBeUndefined();
    await f.client.unary(close, fixture.closeRequest("a"));
    expect(
      (await f.client.unary(seed, fixture.seedRequest("b", { split: "other content" }))).error,
    ).toBeUndefined();
  });

  it("lets a call wait for a place, within the queue's bound and outside its own timeout", async () => {
    await using f = await fixture.startFixture({ maxSessions: 1, queueTimeoutMs: 10_000 });
    await f.client.unary(seed, fixture.seedRequest("a"));
    const waiting = f.client.unary(seed, { ...fixture.seedRequest("b"), timeout: { seconds: 1n, nanos: 0 } });
    const joining = f
      .another()
      .unary(seed, { ...fixture.seedRequest("b"), timeout: { seconds: 1n, nanos: 0 } });
    await f.client.unary(fixture.describe, {});
    f.clock.advance(9000);
    await f.client.unary(close, fixture.closeRequest("a"));
    expect((await waiting).error).toBeUndefined();
    expect((await joining).message).toEqual((await waiting).message);
  });

  it("refuses after too long a wait; nothing was started (field-case-057)", async () => {
    await using f = await fixture.startFixture({ maxSessions: 1, queueTimeoutMs: 500 });
    await f.client.unary(seed, fixture.seedRequest("a"));
    const waiting = f.client.unary(seed, fixture.seedRequest("b"));
    await f.client.unary(fixture.describe, {});
    f.clock.advance(500);
    const refused = await waiting;
    expect(refused.error).toMatchObject({
      code: "RESOURCE_EXHAUSTED",
      reason: "ADMISSION_TIMEOUT",
      failure: undefined,
    });
    expect(refused.error?.retryAfterMs).toBeGreaterThan(0);
    expect(f.controls.counts.seed).toBe(1);
    expect((await f.client.unary(step, fixture.stepRequest(0, "go", "b"))).error?.reason).toBe(
      "SESSION_UNKNOWN",
    );
  });

  it("withdraws a queued call whose caller left", async () => {
    await using f = await fixture.startFixture({ maxSessions: 1, queueTimeoutMs: 60_000 });
    await f.client.unary(seed, fixture.seedRequest("a"));
    const waiting = f.client.unary(seed, fixture.seedRequest("b"), {
      onCall: (call) => void f.client.unary(fixture.describe, {}).then(() => call.cancel()),
    });
    expect((await waiting).error?.code).toBe("CANCELLED");
    await f.client.unary(fixture.describe, {});
    await f.client.unary(close, fixture.closeRequest("a"));
    expect((await f.client.unary(step, fixture.stepRequest(0, "go", "b"))).error?.reason).toBe(
      "SESSION_UNKNOWN",
    );
    expect(f.controls.counts.seed).toBe(1);
    expect((await f.client.unary(seed, fixture.seedRequest("c"))).error).toBeUndefined();
  });

  it("ends a queued Seed at its Close, without its ever beginning", async () => {
    await using f = await fixture.startFixture({ maxSessions: 1, queueTimeoutMs: 60_000 });
    await f.client.unary(seed, fixture.seedRequest("a"));
    const waiting = f.client.unary(seed, fixture.seedRequest("b"));
    await f.client.unary(fixture.describe, {});
    await f.client.unary(close, fixture.closeRequest("b"));
    expect((await waiting).error?.reason).toBe("SESSION_CLOSED");
    expect(f.controls.counts.seed).toBe(1);
  });

  it("lets no step in between the place and the beginning of a queued Seed (R3)", async () => {
    // Where in the loop the steps come depends on what was sent before them: each place is tried.
    for (let before = 0; before < 12; before += 1) {
      await using f = await fixture.startFixture({ maxSessions: 1, queueTimeoutMs: 60_000 });
      await f.client.unary(seed, fixture.seedRequest("a"));
      const queued = f.another().unary(seed, fixture.seedRequest("b"));
      await f.client.unary(fixture.describe, {});
      const operations = [
        { operation: { case: "close" as const, value: fixture.closeRequest("a") } },
        ...Array.from({ length: before }, () => fixture.stepRequest(0, "go", "nobody")).map((value) => ({
          operation: { case: "step" as const, value },
        })),
        ...Array.from({ length: 60 }, () => fixture.stepRequest(0, "go", "b")).map((value) => ({
          operation: { case: "step" as const, value },
        })),
      ];
      const stream = f.another().duplex(EnvironmentService.method.stepStream);
      for (const [i, operation] of operations.entries()) {
        stream.write({ frame: BigInt(i + 1), operations: [operation] });
      }
      for (let i = 0; i < operations.length; i += 1) {
        const { answer } = (await stream.read())?.answers[0] ?? {};
        if (answer?.case === "error") expect(answer.value.message).not.toContain("unexpected");
      }
      stream.end();
      expect((await queued).error).toBeUndefined();
      const { error } = await f.client.unary(step, fixture.stepRequest(0, "go", "b"));
      expect(error).toBeUndefined();
      expect((await f.client.unary(step, fixture.stepRequest(1, "go", "b"))).message?.stepIndex).toBe(1);
    }
  });

  it("frees the place of a Seed that passed its timeout when its work has returned, and releases what that made (ENV-SEED-010)", async () => {
    await using f = await fixture.startFixture({ maxSessions: 1 });
    f.controls.obedient = false;
    f.controls.seed.shut();
    const late = f.client.unary(seed, {
      ...fixture.seedRequest("late"),
      timeout: { seconds: 1n, nanos: 0 },
      lease: { seconds: 3000n, nanos: 0 },
    });
    await f.controls.seed.arrived(1);
    f.clock.advance(1000);
    expect((await late).error?.failure?.kind).toBe(FailureKind.TIMEOUT);
    // The work still runs, and takes up what a session does.
    expect((await f.client.unary(seed, fixture.seedRequest("next"))).error?.reason).toBe("CAPACITY");
    const reads = async () => [
      (await f.client.unary(step, fixture.stepRequest(0, "go", "late"))).error?.reason,
      (await f.client.unary(fixture.listTools, { sessionId: "late", agentId: "agent" })).error?.reason,
      (await f.client.stream(EnvironmentService.method.watchSteps, { sessionId: "late" })).error?.reason,
    ];
    const refused = ["SESSION_FAILED", "SESSION_FAILED", "SESSION_FAILED"];
    expect(await reads()).toEqual(refused);
    f.controls.seed.open();
    await f.client.unary(fixture.describe, {});
    expect(f.controls.counts.release).toBe(1);
    expect(await reads()).toEqual(refused);
    expect((await f.client.unary(seed, fixture.seedRequest("next"))).error).toBeUndefined();
    const closed = await f.client.unary(close, fixture.closeRequest("late"));
    expect(closed.message?.receipt).toMatchObject({ cleanupConfirmed: true, left: [] });
    expect(f.controls.counts.release).toBe(1);
  });

  it("releases at Close what a late Seed made and could not release", async () => {
    await using f = await fixture.startFixture();
    f.controls.obedient = false;
    f.controls.seed.shut();
    const late = f.client.unary(seed, { ...fixture.seedRequest(), timeout: { seconds: 1n, nanos: 0 } });
    await f.controls.seed.arrived(1);
    f.clock.advance(1000);
    await late;
    f.controls.failNext = { at: "release", error: new Error("stuck") };
    f.controls.seed.open();
    await f.client.unary(fixture.describe, {});
    expect(f.controls.counts.release).toBe(1);
    const closed = await f.client.unary(close, fixture.closeRequest());
    expect(closed.message?.receipt).toMatchObject({ cleanupConfirmed: true, left: [] });
    expect(f.controls.counts.release).toBe(2);
  });

  it("frees the place of a failed Seed whose release hangs, when the grace of a Close has passed (ENV-SEED-010)", async () => {
    await using f = await fixture.startFixture({ maxSessions: 1 });
    f.controls.obedient = false;
    f.controls.seed.shut();
    f.controls.release.shut();
    const late = f.client.unary(seed, { ...fixture.seedRequest("late"), timeout: { seconds: 1n, nanos: 0 } });
    await f.controls.seed.arrived(1);
    f.clock.advance(1000);
    await late;
    f.controls.seed.open();
    await f.controls.release.arrived(1);
    expect((await f.client.unary(seed, fixture.seedRequest("next"))).error?.reason).toBe("CAPACITY");
    f.clock.advance(30_000);
    await f.client.unary(fixture.describe, {});
    expect((await f.client.unary(seed, fixture.seedRequest("next"))).error).toBeUndefined();
  });

  it("withdraws a queued stream whose last reader left, and serves one whose reader came back (ALL-ADM-003)", async () => {
    let verified = 0;
    const world = defineEnvironment({
      name: "gated",
      version: "1.0.0",
      reward: { timing: "terminal", minimum: 0, maximum: 1 },
      determinism: "seeded",
      stateless: true,
      read: () => null,
      seed: () => ({ state: null }),
      verify() {
        verified += 1;
        return { reward: 1 };
      },
    });
    const limits = { maxSessions: 1, queueTimeoutMs: 60_000 };
    await using f = await fixture.serveWorld(world, { limits });
    await f.client.unary(seed, fixture.seedRequest("a"));
    const request = (verificationId: string) => ({
      target: {
        case: "stateless" as const,
        value: { verificationId, context: fixture.seedRequest().context, task: fixture.task() },
      },
    });
    const calls: { cancel(): void }[] = [];
    const ask = (id: string, client = f.client) =>
      client.stream(verify, request(id), { onCall: (call) => calls.push(call) });
    const gone = ask("gone");
    const shared = ask("shared");
    await f.client.unary(fixture.describe, {});
    const other = ask("shared", f.another());
    await f.client.unary(fixture.describe, {});
    for (const call of calls.slice(0, 2)) call.cancel();
    expect([(await gone).error?.code, (await shared).error?.code]).toEqual(["CANCELLED", "CANCELLED"]);
    await f.client.unary(fixture.describe, {});
    await f.client.unary(close, fixture.closeRequest("a"));
    expect((await other).messages.at(-1)?.event.case).toBe("result");
    expect(verified).toBe(1);
    expect((await ask("gone")).delivery).toBe("started");
  });

  it("frees the place of a Seed that failed", async () => {
    await using f = await fixture.startFixture({ maxSessions: 1 });
    f.controls.failNext = { at: "seed", error: new Error("boom") };
    expect((await f.client.unary(seed, fixture.seedRequest("a"))).error?.reason).toBe("OPERATION_FAILED");
    expect((await f.client.unary(seed, fixture.seedRequest("b"))).error).toBeUndefined();
  });
});
