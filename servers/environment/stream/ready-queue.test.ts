import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { StepStreamResponseSchema } from "../../../gen/index.js";
import { ManualClock } from "../../../test/manual-clock.js";
import { heartbeatMs } from "../../runtime/event-log.js";
import { maxPipelinedSteps, ReadyQueue } from "./ready-queue.js";

const answer = (frame: number) => create(StepStreamResponseSchema, { frame: BigInt(frame) });

describe("ReadyQueue", () => {
  it("hands answers over in their order, those that wait and those that are waited for, and then ends", async () => {
    const queue = new ReadyQueue(new ManualClock());
    queue.push(answer(1));
    const read = [await queue.next(), queue.next()];
    queue.push(answer(2));
    queue.push(answer(3));
    queue.end();
    const results = await Promise.all([...read, queue.next(), queue.next()]);
    expect(results.map(({ done, value }) => (done === true ? "end" : value.frame))).toEqual([
      1n,
      2n,
      3n,
      "end",
    ]);
  });

  it("breaks a silence counted from the last answer, with one timer however many answers there are", async () => {
    const clock = new ManualClock();
    const queue = new ReadyQueue(clock);
    let waiting = queue.next();
    clock.advance(heartbeatMs - 1);
    queue.push(answer(1));
    expect((await waiting).value?.frame).toBe(1n);
    let heard: unknown;
    waiting = queue.next();
    void waiting.then(({ value }) => {
      heard = value;
    });
    clock.advance(heartbeatMs - 1);
    await Promise.resolve();
    expect(heard).toBeUndefined();
    clock.advance(1);
    expect((await waiting).value).toEqual(create(StepStreamResponseSchema));
  });

  it("takes more frames once answers that were worked on have been read", async () => {
    const queue = new ReadyQueue(new ManualClock());
    const done: (() => void)[] = [];
    for (let i = 0; i < maxPipelinedSteps; i += 1) {
      const worked = new Promise<void>((resolve) => done.push(resolve));
      queue.begin(worked.then(() => queue.push(answer(i))));
    }
    const read = queue.next();
    const room = queue.room();
    done[0]?.();
    expect((await read).value?.frame).toBe(0n);
    await room;
    expect(queue.pending).toBe(maxPipelinedSteps - 1);
  });

  it("ends though work on a frame broke", async () => {
    const queue = new ReadyQueue(new ManualClock());
    queue.begin(Promise.reject(new Error("broken")));
    queue.end();
    expect((await queue.next()).done).toBe(true);
  });

  it("lets a reader go that waits, and leaves no timer behind", async () => {
    const clock = new ManualClock();
    const queue = new ReadyQueue(clock);
    const waiting = queue.next();
    await queue.return();
    expect((await waiting).done).toBe(true);
    queue.push(answer(1));
    expect((await queue.next()).done).toBe(true);
    expect(clock.timers).toBe(0);
  });
});
