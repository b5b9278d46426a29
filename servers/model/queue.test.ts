import { describe, expect, it } from "vitest";
import { ManualClock } from "../../test/manual-clock.js";
import { toMs } from "../runtime/duration.js";
import { GatedModel } from "./fixtures/gated-model.js";
import { ask, ServedModel, user } from "./fixtures/served-model.js";

describe("calls beyond the cap", () => {
  it("field-case-65: 20 agents make 3 calls each; 2 at once, in order, waiting apart from model time", async () => {
    const clock = new ManualClock();
    const model = new GatedModel();
    await using served = await ServedModel.start(model.definition, {
      clock,
      maxConcurrentCalls: 2,
      queueTimeoutMs: 600_000,
    });
    const { key } = await served.open("g");
    const idle = clock.timers;
    const agents = Array.from({ length: 20 }, async (_, agent) => {
      for (let turn = 0; turn < 3; turn += 1) await served.answer(ask([user(`${agent}/${turn}`)]), key);
    });
    // Two are let in, and each of the others waits with a timer of its own.
    while (clock.timers < idle + 18) await new Promise(setImmediate);
    for (let done = 0; done < 60; done += 1) {
      await model.reached(Math.min(60, done + 2));
      clock.advance(100);
      model.answer(done);
    }
    await Promise.all(agents);
    expect(model.peak).toBe(2);
    const calls = await served.capture("g");
    expect(calls).toHaveLength(60);
    const waited = calls.map(({ duration, usage }) => {
      const [whole, asked] = [duration, usage?.modelTime].map((d) => (d === undefined ? 0 : toMs(d)));
      expect(asked).toBeLessThanOrEqual(500);
      return (whole ?? 0) - (asked ?? 0);
    });
    expect(Math.max(...waited)).toBeGreaterThanOrEqual(800);
    const began = calls.map(
      ({ startTime }) => Number(startTime?.seconds) * 1000 + (startTime?.nanos ?? 0) / 1e6,
    );
    expect(began).toEqual([...began].sort((a, b) => a - b));
  });

  it("are refused with RetryInfo when the wait is too long, and at once where there is no queue (ALL-ADM-001)", async () => {
    const clock = new ManualClock();
    const model = new GatedModel();
    await using served = await ServedModel.start(model.definition, {
      clock,
      maxConcurrentCalls: 1,
      queueTimeoutMs: 5000,
    });
    const { key } = await served.open("g");
    const first = served.answer(ask([user("1")]), key);
    await model.reached(1);
    const timers = clock.timers;
    const second = served.generate(ask([user("2")]), key);
    while (clock.timers === timers) await new Promise(setImmediate);
    clock.advance(5000);
    expect((await second).error).toMatchObject({
      code: "RESOURCE_EXHAUSTED",
      reason: "ADMISSION_TIMEOUT",
      metadata: { limit: "1" },
      retryAfterMs: 1000,
    });
    model.answer(0);
    await first;
    // A refusal is not recorded (ALL-ADM-002).
    expect(await served.capture("g")).toHaveLength(1);

    await using strict = await ServedModel.start(model.definition, { maxConcurrentCalls: 1 });
    const held = strict.answer(ask([user("1")]));
    await model.reached(2);
    expect((await strict.generate(ask([user("2")]))).error).toMatchObject({
      reason: "CAPACITY",
      retryAfterMs: 1000,
    });
    model.answer(1);
    await held;
  });

  it("are withdrawn when their caller leaves or their gateway closes (ALL-ADM-003)", async () => {
    const clock = new ManualClock();
    const model = new GatedModel();
    await using served = await ServedModel.start(model.definition, {
      clock,
      maxConcurrentCalls: 1,
      queueTimeoutMs: 5000,
    });
    const { key } = await served.open("g");
    const first = served.answer(ask([user("1")]));
    await model.reached(1);
    let cancel: () => void = () => {};
    let timers = clock.timers;
    const waits = async () => {
      while (clock.timers === timers) await new Promise(setImmediate);
      timers = clock.timers;
    };
    const left = served.generate(ask([user("left")]), {
      onCall: (call) => {
        cancel = () => call.cancel();
      },
    });
    await waits();
    const closed = served.generate(ask([user("closed")]), key);
    await waits();
    const last = served.answer(ask([user("last")]));
    await waits();
    cancel();
    expect((await left).error?.code).toBe("CANCELLED");
    await served.closeGateway("g");
    expect((await closed).error).toMatchObject({ reason: "CREDENTIALS" });
    model.answer(0);
    await model.reached(2);
    model.answer(1);
    await Promise.all([first, last]);
    expect(model.calls).toHaveLength(2);
  });

  it("are not let in by a call that ended while its model goes on", async () => {
    const model = new GatedModel();
    const released: (() => void)[] = [];
    await using served = await ServedModel.start(
      {
        ...model.definition,
        // Deaf to its signal.
        generate: async (call) => {
          await new Promise<void>((resolve) => released.push(resolve));
          return await model.definition.generate({ ...call, signal: new AbortController().signal });
        },
      },
      { maxConcurrentCalls: 1, queueTimeoutMs: 60_000 },
    );
    const first = served.generate(ask([user("1")]), { deadlineMs: 200 });
    expect((await first).error?.code).toBe("DEADLINE_EXCEEDED");
    const second = served.answer(ask([user("2")]));
    expect(released).toHaveLength(1);
    released[0]?.();
    await model.reached(1);
    model.answer(0);
    while (released.length < 2) await new Promise(setImmediate);
    released[1]?.();
    await model.reached(2);
    model.answer(1);
    await second;
  });
});
