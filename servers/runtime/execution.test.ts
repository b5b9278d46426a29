import { describe, expect, it } from "vitest";
import { FailureKind, Stage } from "../../gen/index.js";
import { ManualClock } from "../../test/manual-clock.js";
import { Execution } from "./execution.js";
import { cancelledFailure } from "./failure.js";

function execution(run: (execution: Execution<string>) => string | Promise<string>) {
  const clock = new ManualClock();
  const errors: unknown[] = [];
  const made = new Execution<string>({
    clock,
    answerId: "answer",
    what: "Step",
    timeoutMs: 1000,
    context: { stage: Stage.STEP },
    run: (running) => {
      clock.advance(400);
      return run(running);
    },
    onError: (error) => errors.push(error),
  });
  return { clock, errors, made };
}

describe("Execution", () => {
  it("has the outcome of work that returns or throws at once at once, without a timer", () => {
    const { made, clock } = execution(() => "done");
    expect(made.outcome).toEqual({ ok: true, answer: "done" });
    expect(clock.timers).toBe(0);
    const wrong = new Error("no");
    const failed = execution(() => {
      throw wrong;
    });
    expect(failed.made.outcome).toMatchObject({ ok: false });
    expect(failed.errors).toEqual([wrong]);
  });

  it("counts the timeout from the start, also where the work returns its promise late (ALL-LOST-008)", async () => {
    const { made, clock } = execution(() => new Promise(() => {}));
    expect(clock.due()).toEqual([600]);
    const { signal } = made;
    clock.advance(600);
    expect(await made.outcome).toMatchObject({ ok: false });
    expect(signal.aborted).toBe(true);
  });

  it("records work that returned after its timeout as TIMEOUT, though no timer could go off (ALL-LOST-007)", async () => {
    const busy = (ms: number) => {
      const clock = new ManualClock();
      const spin = <T>(answer: T): T => {
        clock.spin(ms);
        return answer;
      };
      return { clock, spin };
    };
    const options = (clock: ManualClock) => ({
      clock,
      answerId: "answer",
      what: "Step",
      timeoutMs: 1000,
      context: { stage: Stage.STEP },
      onError: () => {},
    });
    const timedOut = { ok: false, error: { failure: { kind: FailureKind.TIMEOUT } } };
    for (const [ms, expected] of [
      [999, { ok: true, answer: "done" }],
      [1000, timedOut],
    ] as const) {
      const { clock, spin } = busy(ms);
      expect(new Execution({ ...options(clock), run: () => spin("done") }).outcome).toMatchObject(expected);
      const later = busy(ms);
      const run = async () => {
        await Promise.resolve();
        return later.spin("done");
      };
      expect(await new Execution({ ...options(later.clock), run }).outcome).toMatchObject(expected);
    }
  });

  it("keeps the first outcome, and does not log what cancelled work throws", async () => {
    let fail: (error: unknown) => void = () => {};
    const { made, clock, errors } = execution(
      () =>
        new Promise((_, reject) => {
          fail = reject;
        }),
    );
    made.cancel(cancelledFailure("the session was closed"));
    fail(new Error("aborted"));
    await made.quiet;
    made.complete("too late");
    expect(await made.outcome).toMatchObject({ ok: false });
    expect(made.signal.aborted).toBe(true);
    expect(errors).toEqual([]);
    expect(clock.timers).toBe(0);
  });

  it("takes an answer that its work gave before it returned", async () => {
    const { made } = execution((running) => {
      running.complete("early");
      return Promise.resolve("late");
    });
    expect(await made.outcome).toEqual({ ok: true, answer: "early" });
    expect(made.returnedAtOnce).toBe(false);
  });
});
