import { expect, describe as group, it } from "vitest";
import { ClosedBy, FailureKind } from "../../gen/index.js";
import * as fixture from "./fixture.js";

const { seed, step, verify, close } = fixture;

group("R5: Close", () => {
  it("answers the same receipt at every further Close, and releases once (field-case-012)", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, fixture.seedRequest());
    for (let i = 0; i < 3; i += 1) await f.client.unary(step, fixture.stepRequest(i));
    await f.client.stream(verify, fixture.verifyRequest(0));
    const first = await f.client.unary(close, fixture.closeRequest());
    const second = await f.another().unary(close, fixture.closeRequest());
    expect(first.message).toMatchObject({
      steps: 3,
      verifications: 1,
      receipt: {
        alreadyClosed: false,
        neverOpened: false,
        closedBy: ClosedBy.CALLER,
        cleanupConfirmed: true,
        left: [],
        context: { groupId: "g", groupIndex: 3, labels: { a: "1", b: "2" } },
      },
    });
    expect(first.message?.taskDigest).toMatch(/^sha256:/);
    expect(second.message?.receipt?.alreadyClosed).toBe(true);
    expect({ ...second.message, receipt: { ...second.message?.receipt, alreadyClosed: false } }).toEqual(
      first.message,
    );
    expect(f.controls.counts.release).toBe(1);
  });

  it("refuses another episode's Close, which changes nothing", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, fixture.seedRequest());
    const foreign = await f.client.unary(close, fixture.closeRequest("s1", "somebody-else"));
    expect(foreign.error).toMatchObject({ code: "FAILED_PRECONDITION", reason: "EPISODE_MISMATCH" });
    expect((await f.client.unary(step, fixture.stepRequest(0))).error).toBeUndefined();
    expect(f.controls.counts.release).toBe(0);
  });

  it("leaves a tombstone: recorded answers replay, everything new is refused, an equal Seed too", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, fixture.seedRequest());
    const stepped = await f.client.unary(step, fixture.stepRequest(0));
    const judged = await f.client.stream(verify, fixture.verifyRequest(0, { final: false }));
    await f.client.unary(close, fixture.closeRequest());
    expect((await f.client.unary(step, fixture.stepRequest(0))).message).toEqual(stepped.message);
    expect((await f.client.stream(verify, fixture.verifyRequest(0, { final: false }))).messages).toEqual(
      judged.messages,
    );
    for (const refused of [
      await f.client.unary(seed, fixture.seedRequest()),
      await f.client.unary(step, fixture.stepRequest(1)),
      await f.client.stream(verify, fixture.verifyRequest(1)),
      await f.client.unary(fixture.keepAlive, { sessionId: "s1" }),
      await f.client.unary(fixture.listTools, { sessionId: "s1", agentId: "agent" }),
    ]) {
      expect(refused.error).toMatchObject({ code: "FAILED_PRECONDITION", reason: "SESSION_CLOSED" });
    }
  });

  it("closes an id that was never seen, so that it cannot be opened any more", async () => {
    await using f = await fixture.startFixture();
    const early = await f.client.unary(close, fixture.closeRequest());
    expect(early.message?.receipt).toMatchObject({
      neverOpened: true,
      alreadyClosed: false,
      cleanupConfirmed: true,
    });
    expect((await f.client.unary(seed, fixture.seedRequest())).error?.reason).toBe("SESSION_CLOSED");
    expect((await f.client.unary(seed, fixture.seedRequest("s2"))).error).toBeUndefined();
  });

  it("ends what runs and answers only when it has stopped", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, fixture.seedRequest());
    f.controls.step.shut();
    const running = f.client.unary(step, fixture.stepRequest(0));
    await f.controls.step.arrived(1);
    const closes = await Promise.all(
      Array.from({ length: 8 }, () => f.client.unary(close, fixture.closeRequest())),
    );
    expect(closes.filter(({ message }) => message?.receipt?.alreadyClosed === false)).toHaveLength(1);
    expect((await running).error?.failure?.kind).toBe(FailureKind.CANCELLED);
    const again = await f.client.unary(step, fixture.stepRequest(0));
    expect(again.error).toEqual((await running).error);
    expect(f.controls.counts.release).toBe(1);
  });

  it("ends a Seed that is still on its way: the id is closed, its place is free", async () => {
    await using f = await fixture.startFixture({ maxSessions: 1 });
    f.controls.seed.shut();
    const seeding = f.client.unary(seed, fixture.seedRequest());
    await f.controls.seed.arrived(1);
    await f.client.unary(close, fixture.closeRequest());
    expect((await seeding).error?.failure?.kind).toBe(FailureKind.CANCELLED);
    expect((await f.client.unary(seed, fixture.seedRequest())).error?.reason).toBe("SESSION_CLOSED");
    f.controls.seed.open();
    expect((await f.client.unary(seed, fixture.seedRequest("s2"))).error).toBeUndefined();
  });

  it("tells what it could not release, and tries again at a further Close", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, fixture.seedRequest());
    f.controls.failNext = { at: "release", error: new Error("/var/secret") };
    const first = await f.client.unary(close, fixture.closeRequest());
    expect(first.message?.receipt).toMatchObject({
      cleanupConfirmed: false,
      left: [{ kind: "session", id: "s1" }],
    });
    expect(JSON.stringify(first.message?.receipt?.left)).not.toContain("secret");
    const second = await f.client.unary(close, fixture.closeRequest());
    expect(second.message?.receipt).toMatchObject({ cleanupConfirmed: true, left: [], alreadyClosed: true });
    expect(f.controls.counts.release).toBe(2);
  });

  it("tries again from time to time, with one timer however often it is closed (ALL-CLOSE-017)", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, fixture.seedRequest());
    const fail = (): void => {
      f.controls.failNext = { at: "release", error: new Error("stuck") };
    };
    for (let i = 0; i < 5; i += 1) {
      fail();
      await f.client.unary(close, fixture.closeRequest());
    }
    expect(f.clock.due()).toEqual([30_000]);
    fail();
    f.clock.advance(30_000);
    await f.client.unary(fixture.describe, {});
    expect(f.controls.counts.release).toBe(6);
    expect(f.clock.due()).toEqual([30_000]);
    fail();
    f.clock.advance(10_000);
    await f.client.unary(close, fixture.closeRequest());
    f.clock.advance(29_999);
    await f.client.unary(fixture.describe, {});
    expect(f.controls.counts.release).toBe(7);
    f.clock.advance(1);
    await f.client.unary(fixture.describe, {});
    expect(f.controls.counts.release).toBe(8);
    // Released: only what is remembered of it goes one day.
    expect(f.clock.due()).toEqual([10 * 60_000]);
    const { message } = await f.client.unary(close, fixture.closeRequest());
    expect(message?.receipt).toMatchObject({ cleanupConfirmed: true, left: [] });
  });

  it("answers unconfirmed where work ignores its end, and confirms once that work has returned", async () => {
    await using f = await fixture.startFixture({ closeGraceMs: 5000 });
    await f.client.unary(seed, fixture.seedRequest());
    f.controls.obedient = false;
    f.controls.step.shut();
    const running = f.client.unary(step, fixture.stepRequest(0));
    await f.controls.step.arrived(1);
    const closing = f.client.unary(close, fixture.closeRequest());
    expect((await running).error?.failure?.kind).toBe(FailureKind.CANCELLED);
    // The server has begun to wait for the work when it has answered a later call on the same connection.
    await f.client.unary(fixture.describe, {});
    f.clock.advance(5000);
    expect((await closing).message?.receipt).toMatchObject({
      cleanupConfirmed: false,
      left: [{ kind: "operation" }],
    });
    f.controls.step.open();
    await f.client.unary(fixture.describe, {});
    const later = await f.client.unary(close, fixture.closeRequest());
    expect(later.message?.receipt?.cleanupConfirmed).toBe(true);
  });

  it("remembers receipts, tombstones and answers for ten minutes", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, fixture.seedRequest());
    await f.client.unary(step, fixture.stepRequest(0));
    await f.client.unary(close, fixture.closeRequest());
    f.clock.advance(10 * 60_000 - 1);
    expect((await f.client.unary(step, fixture.stepRequest(0))).delivery).toBe("replayed");
    f.clock.advance(1);
    expect((await f.client.unary(step, fixture.stepRequest(0))).error?.reason).toBe("SESSION_UNKNOWN");
    expect((await f.client.unary(seed, fixture.seedRequest())).error).toBeUndefined();
  });
});
