import { expect, describe as group, it } from "vitest";
import { ClosedBy } from "../../gen/index.js";
import * as fixture from "./fixture.js";

const { seed, step, verify, close, keepAlive } = fixture;
const seconds = (n: number) => ({ seconds: BigInt(n), nanos: 0 });
const withLease = (lease: number, sessionId = "s1") => ({
  ...fixture.seedRequest(sessionId),
  lease: seconds(lease),
});

group("R6: leases", () => {
  it("echoes the lease that holds: two minutes by default, clamped out of bounds, never refused", async () => {
    await using f = await fixture.startFixture({ maxLifetimeMs: 3_600_000 });
    const leaseOf = async (sessionId: string, lease?: number) => {
      const request = lease === undefined ? fixture.seedRequest(sessionId) : withLease(lease, sessionId);
      return (await f.client.unary(seed, request)).message?.session?.lease;
    };
    expect(await leaseOf("a")).toMatchObject({ duration: seconds(120), maxLifetime: seconds(3600) });
    expect(await leaseOf("b", 10)).toMatchObject({ duration: seconds(10) });
    expect(await leaseOf("c", 0)).toMatchObject({ duration: seconds(1) });
    expect(await leaseOf("d", 1_000_000)).toMatchObject({ duration: seconds(3600) });
  });

  it("ends a silent session as Close does, frees its place, and still answers its receipt (field-case-018)", async () => {
    await using f = await fixture.startFixture({ maxSessions: 2 });
    await f.client.unary(seed, withLease(2, "a"));
    await f.client.unary(seed, withLease(2, "b"));
    expect((await f.client.unary(seed, fixture.seedRequest("c"))).error?.reason).toBe("CAPACITY");
    f.clock.advance(2000);
    expect((await f.client.unary(seed, fixture.seedRequest("c"))).error).toBeUndefined();
    for (const refused of [
      await f.client.unary(step, fixture.stepRequest(0, "go", "a")),
      await f.client.unary(keepAlive, { sessionId: "a" }),
      await f.client.unary(seed, withLease(2, "a")),
    ]) {
      expect(refused.error).toMatchObject({ code: "FAILED_PRECONDITION", reason: "SESSION_EXPIRED" });
    }
    const receipt = (await f.client.unary(close, fixture.closeRequest("a"))).message?.receipt;
    expect(receipt).toMatchObject({ closedBy: ClosedBy.LEASE, alreadyClosed: true, cleanupConfirmed: true });
    expect(f.controls.counts.release).toBe(2);
  });

  it("is renewed by every request that is served, counted from then, and not by a refusal", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, withLease(10));
    f.clock.advance(8000);
    await f.client.unary(step, fixture.stepRequest(0));
    f.clock.advance(8000);
    await f.client.unary(keepAlive, { sessionId: "s1" });
    f.clock.advance(8000);
    await f.client.unary(fixture.listTools, { sessionId: "s1", agentId: "agent" });
    f.clock.advance(8000);
    expect((await f.client.unary(step, fixture.stepRequest(0))).delivery).toBe("replayed");
    f.clock.advance(6000);
    expect((await f.client.unary(step, fixture.stepRequest(7))).error?.reason).toBe("OUT_OF_ORDER");
    f.clock.advance(4000);
    expect((await f.client.unary(step, fixture.stepRequest(1))).error?.reason).toBe("SESSION_EXPIRED");
  });

  it("stands still while an operation runs", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, withLease(10));
    f.controls.step.shut();
    const slow = f.client.unary(step, fixture.stepRequest(0));
    await f.controls.step.arrived(1);
    f.clock.advance(35_000);
    f.controls.step.open();
    expect((await slow).error).toBeUndefined();
    f.clock.advance(9000);
    expect((await f.client.unary(step, fixture.stepRequest(1))).error).toBeUndefined();
  });

  it("does not outlive max_lifetime, whatever is renewed", async () => {
    await using f = await fixture.startFixture({ maxLifetimeMs: 30_000 });
    await f.client.unary(seed, withLease(10));
    for (let i = 0; i < 5; i += 1) {
      f.clock.advance(5000);
      await f.client.unary(keepAlive, { sessionId: "s1" });
    }
    f.clock.advance(5000);
    expect((await f.client.unary(keepAlive, { sessionId: "s1" })).error?.reason).toBe("SESSION_EXPIRED");
    const receipt = (await f.client.unary(close, fixture.closeRequest())).message?.receipt;
    expect(receipt?.closedBy).toBe(ClosedBy.LIFETIME);
  });

  it("releases sessions whose episode ended and that nobody closes (field-case-017)", async () => {
    await using f = await fixture.startFixture();
    for (let i = 0; i < 50; i += 1) {
      await f.client.unary(seed, withLease(5, `s${i}`));
      if (i % 2 === 0) await f.client.stream(verify, fixture.verifyRequest(0, { sessionId: `s${i}` }));
    }
    f.clock.advance(5000);
    await f.client.unary(fixture.describe, {});
    expect(f.controls.counts.release).toBe(50);
  });
});
