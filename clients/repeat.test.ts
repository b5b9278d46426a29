import { create } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { Delivery, EnvironmentService, FailureSchema } from "../gen/index.js";
import { ManualClock } from "../test/manual-clock.js";
import { CallError, InstanceChangedError } from "./call-error.js";
import { NO_INFO } from "./channel.js";
import { errorOf } from "./fixtures/call-outcome.js";
import { DEFAULT_REPEAT_POLICY, type RepeatChange, repeat, repeatPolicy } from "./repeat.js";
import type { RpcKind } from "./rpc-kind.js";
import { NO_DETAILS, type StatusDetails } from "./status-details.js";

function failed(
  how: { readonly code?: Code; readonly delivery?: Delivery; readonly byCaller?: boolean },
  details: Partial<StatusDetails> = {},
): CallError {
  return new CallError({
    rpc: "touchstone.v1.EnvironmentService/Seed",
    target: "http://127.0.0.1:1",
    code: how.code ?? Code.Unavailable,
    message: "gone",
    details: { ...NO_DETAILS, ...details },
    delivery: how.delivery ?? Delivery.POSSIBLY_DELIVERED,
    byCaller: how.byCaller ?? false,
    info: NO_INFO,
  });
}

/** Runs a call whose attempts end so, one after another, then well; waits pass at once. */
async function run(
  kind: RpcKind,
  ends: readonly (CallError | undefined)[],
  more: { readonly policy?: RepeatChange; readonly deadlineMs?: number; readonly random?: () => number } = {},
) {
  const clock = new ManualClock();
  const waits: number[] = [];
  let attempts = 0;
  const call = repeat(
    kind,
    {
      policy: repeatPolicy(more.policy),
      clock: {
        now: () => clock.now(),
        setTimer: (ms, callback) => {
          waits.push(ms);
          const timer = clock.setTimer(ms, callback);
          queueMicrotask(() => clock.advance(ms));
          return timer;
        },
      },
      random: more.random ?? (() => 0),
      deadlineAt: more.deadlineMs,
    },
    async () => {
      const end = ends[Math.min(attempts, ends.length - 1)];
      attempts += 1;
      if (end !== undefined) throw end;
      return "done";
    },
  );
  const [settled] = await Promise.allSettled([call]);
  return { settled, attempts, waits, elapsed: clock.now() };
}

const lost = failed({});
const unsent = failed({ delivery: Delivery.NOT_SENT });
const busy = failed({ code: Code.FailedPrecondition }, { reason: "SESSION_BUSY", retryAfterMs: 200 });
const invalid = failed({ code: Code.InvalidArgument }, { reason: "INVALID_FIELD" });
const recorded = failed(
  { code: Code.Aborted },
  { reason: "OPERATION_FAILED", failure: create(FailureSchema, { retry: 3 }), retryAfterMs: 1 },
);
const unreadable = failed({ code: Code.Aborted }, { reason: "OPERATION_FAILED", retryAfterMs: 1 });
const contradictory = failed(
  { code: Code.Aborted },
  { reason: "SESSION_BUSY", failure: create(FailureSchema), retryAfterMs: 1 },
);
const unimplemented = failed({ code: Code.Unimplemented });
const aborted = failed({ code: Code.Canceled, byCaller: true });
const remoteCancel = failed({ code: Code.Canceled });
const otherInstance = new InstanceChangedError(
  { method: EnvironmentService.method.seed, target: "http://127.0.0.1:1", info: NO_INFO },
  { expected: "i-1", found: "i-2" },
);

describe("repeat", () => {
  it.each<[string, CallError, readonly RpcKind[]]>([
    ["a loss without a word", lost, ["operation", "idempotent", "read"]],
    ["a reset that calls itself a cancellation", remoteCancel, ["operation", "idempotent", "read"]],
    ["a call that was never sent", unsent, ["operation", "idempotent", "read", "call"]],
    ["a refusal that says when to come again", busy, ["operation", "idempotent", "read", "call"]],
    ["a refusal that does not", invalid, []],
    ["a recorded failure, whatever it says of retries", recorded, []],
    ["a recorded failure that cannot be read", unreadable, []],
    ["a refusal that also claims a failure", contradictory, []],
    ["an rpc that is not served", unimplemented, []],
    ["what the caller itself ended", aborted, []],
    ["another instance", otherInstance, []],
  ])("ALL-REPEAT-020, E6: %s", async (_, error, repeated) => {
    for (const kind of ["operation", "idempotent", "read", "call"] as const) {
      const { settled, attempts } = await run(kind, [error, undefined]);
      expect([kind, attempts]).toEqual([kind, repeated.includes(kind) ? 2 : 1]);
      expect(settled?.status).toBe(repeated.includes(kind) ? "fulfilled" : "rejected");
    }
  });

  it("field-case-040: ends after its attempts, and tells them with the last cause", async () => {
    const { settled, attempts, waits } = await run("operation", [lost], { policy: { attempts: 4 } });
    expect(attempts).toBe(4);
    const error = settled?.status === "rejected" ? settled.reason : undefined;
    expect(error).toMatchObject({ attempts: 4, rawMessage: "gone", code: Code.Unavailable });
    expect(error.message).toContain("after 4 attempts: gone");
    // Half of 100, 200, 400 ms, at least.
    expect(waits).toEqual([50, 100, 200]);
  });

  it("field-case-040: ends at its time, without a wait that would pass it", async () => {
    const { attempts, elapsed } = await run("operation", [lost], {
      policy: { attempts: 1_000_000, withinMs: 10_000 },
      random: () => 0.999,
    });
    expect(elapsed).toBeLessThanOrEqual(10_000);
    expect(elapsed).toBeGreaterThan(5_000);
    expect(attempts).toBeLessThan(10);
  });

  it("field-case-040: gives up at once where the peer asks for a wait beyond the bound", async () => {
    const later = failed({ code: Code.ResourceExhausted }, { reason: "RATE_LIMITED", retryAfterMs: 30_000 });
    const { attempts, waits } = await run("operation", [later, undefined], { policy: { withinMs: 10_000 } });
    expect([attempts, waits]).toEqual([1, []]);
    const inTime = await run("operation", [later, undefined], { policy: { withinMs: 40_000 } });
    expect([inTime.attempts, inTime.waits]).toEqual([2, [30_000]]);
  });

  it("gives up at once where the wait lies behind the caller's own deadline", async () => {
    const { attempts, elapsed } = await run("operation", [busy, undefined], { deadlineMs: 150 });
    expect([attempts, elapsed]).toEqual([1, 0]);
  });

  it("obeys refusals for as long as the time allows, not only as often as losses", async () => {
    const ends = [...Array.from({ length: 50 }, () => busy), undefined];
    const { settled, attempts } = await run("operation", ends, { policy: { attempts: 2 } });
    expect([settled?.status, attempts]).toEqual(["fulfilled", 51]);
  });

  it("waits at least as long as the peer asks, and not in step with others", async () => {
    const { waits } = await run("operation", [busy, busy, undefined], { random: () => 0.5 });
    expect(waits).toEqual([250, 300]);
  });

  it("never waits longer than its longest wait", async () => {
    const { waits } = await run("read", [lost], {
      policy: { attempts: 12, withinMs: 1e9, maxDelayMs: 1_000 },
      random: () => 0.999,
    });
    expect(Math.max(...waits)).toBeLessThanOrEqual(1_000);
  });

  it("does not repeat where that was turned off, but for nothing else than that", async () => {
    for (const error of [lost, unsent, busy]) {
      expect((await run("operation", [error, undefined], { policy: false })).attempts).toBe(1);
    }
    expect(repeatPolicy({ attempts: 9 }, false).attempts).toBe(1);
    expect(repeatPolicy(false, { attempts: 3 })).toEqual({
      ...DEFAULT_REPEAT_POLICY,
      attempts: 3,
      refusals: 0,
    });
  });

  it("passes on what is no error of a call", async () => {
    const { settled, attempts } = await run("read", [new TypeError("bug") as unknown as CallError]);
    expect(attempts).toBe(1);
    expect(settled).toMatchObject({ reason: expect.any(TypeError) });
  });

  it("ends its wait when the caller leaves", async () => {
    const clock = new ManualClock();
    const controller = new AbortController();
    let attempts = 0;
    const call = errorOf(
      repeat(
        "operation",
        { policy: DEFAULT_REPEAT_POLICY, clock, random: () => 0, signal: controller.signal },
        async () => {
          attempts += 1;
          throw lost;
        },
      ),
    );
    await clock.timer(50);
    controller.abort();
    const error = await call;
    expect(error).toMatchObject({ code: Code.Canceled, byCaller: true, cause: lost });
    expect(error.message).toContain("waited to be repeated after");
    expect([attempts, clock.due()]).toEqual([1, []]);
  });
});
