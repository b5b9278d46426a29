import { expect, describe as group, it } from "vitest";
import { FailureKind, Retry, type Role } from "../../gen/index.js";
import { type FailureInit, OperationFailure } from "../../servers/runtime/failure.js";
import * as fixture from "./fixture.js";

const { seed, step, verify, close } = fixture;

/** What an author's code may throw although no type allows it. */
const garbage: Readonly<Record<string, () => unknown>> = {
  "a failure with its retry as text": () =>
    new OperationFailure({ retry: "NEXT_INDEX" } as unknown as FailureInit),
  "a failure with details that are no text": () =>
    new OperationFailure({ detailsJson: {} } as unknown as FailureInit),
  "a failure with a reason that is a number": () =>
    new OperationFailure({ reason: 7 } as unknown as FailureInit),
  "a failure of an impossible kind": () => new OperationFailure({ kind: 1e12 as FailureKind, reason: "x" }),
  "a failure with a huge custom kind": () =>
    new OperationFailure({ kind: FailureKind.CUSTOM, customKind: "x".repeat(3_000_000), reason: "x" }),
  "an error that cannot be shown": () =>
    Object.defineProperty(new Error("x"), "more", {
      enumerable: true,
      get() {
        throw new Error("no");
      },
    }),
  "a proxy that throws at every touch": () =>
    new Proxy(
      {},
      {
        get: () => {
          throw new Error("no");
        },
        getPrototypeOf: () => {
          throw new Error("no");
        },
      },
    ),
};

group("whatever an author's code throws", () => {
  for (const [what, make] of Object.entries(garbage)) {
    it(`is a recorded failure that touches no other session: ${what} (ALL-FAIL-004, ALL-FAIL-005)`, async () => {
      await using f = await fixture.startFixture();
      await f.client.unary(seed, fixture.seedRequest("other"));
      f.controls.failNext = { at: "seed", error: make() };
      expect((await f.client.unary(seed, fixture.seedRequest("a"))).error?.reason).toBe("OPERATION_FAILED");
      await f.client.unary(seed, fixture.seedRequest("b"));
      f.controls.failNext = { at: "step", error: make() };
      const failed = await f.client.unary(step, fixture.stepRequest(0, "go", "b"));
      expect(failed.error).toMatchObject({ reason: "OPERATION_FAILED", failure: { retry: Retry.NEVER } });
      await f.client.unary(seed, fixture.seedRequest("c"));
      f.controls.failNext = { at: "verify", error: make() };
      const judged = await f.client.stream(verify, fixture.verifyRequest(0, { sessionId: "c" }));
      expect(judged.messages.at(-1)?.event).toMatchObject({ value: { outcome: { case: "failure" } } });
      f.controls.failNext = { at: "release", error: make() };
      const closed = await f.client.unary(close, fixture.closeRequest("c"));
      expect(closed.message?.receipt).toMatchObject({ cleanupConfirmed: false, left: [{ kind: "session" }] });
      expect((await f.client.unary(step, fixture.stepRequest(0, "go", "other"))).error).toBeUndefined();
    });
  }

  it("says why a Close is not confirmed", async () => {
    await using f = await fixture.startFixture({ closeGraceMs: 5000 });
    await f.client.unary(seed, fixture.seedRequest());
    f.controls.obedient = false;
    f.controls.step.shut();
    const running = f.client.unary(step, fixture.stepRequest(0));
    await f.controls.step.arrived(1);
    const closing = f.client.unary(close, fixture.closeRequest());
    await running;
    await f.client.unary(fixture.describe, {});
    f.clock.advance(5000);
    expect((await closing).message?.receipt?.left[0]?.failure).toMatchObject({
      kind: FailureKind.TIMEOUT,
      reason: "its work did not stop within 5000 ms",
    });
  });
});

group("names under pressure", () => {
  it("tells a numbered step that waited behind an action_id of the same number that it is a conflict", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, fixture.seedRequest());
    f.controls.step.shut();
    const first = f.client.unary(step, fixture.stepRequest(0));
    await f.controls.step.arrived(1);
    const named = f.client.unary(step, fixture.actionRequest("A"));
    const numbered = f.client.unary(step, fixture.stepRequest(1));
    await f.client.unary(fixture.describe, {});
    f.controls.step.open();
    await first;
    expect((await named).message?.stepIndex).toBe(1);
    expect((await numbered).error?.reason).toBe("OPERATION_CONFLICT");
    expect((await f.client.unary(step, fixture.stepRequest(1))).error?.reason).toBe("OPERATION_CONFLICT");
    expect((await f.client.unary(step, fixture.actionRequest("A"))).delivery).toBe("replayed");
  });

  it("refuses in a step what Verify would refuse in a submission", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, fixture.seedRequest());
    const withItem = (item: object) => ({
      ...fixture.stepRequest(0),
      actions: [{ agentId: "agent", kind: { case: "items" as const, value: { items: [item] } } }],
    });
    const unknownRole = { kind: { case: "chatMessage" as const, value: { role: 99 as Role } } };
    expect((await f.client.unary(step, withItem(unknownRole))).error?.reason).toBe("UNKNOWN_ENUM");
    expect((await f.client.unary(step, withItem({ itemId: "x" }))).error).toMatchObject({
      reason: "INVALID_FIELD",
      fields: ["actions[0].items.items[0]"],
    });
    expect((await f.client.unary(step, fixture.stepRequest(0))).error).toBeUndefined();
  });
});
