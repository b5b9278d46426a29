import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { EpisodeContextSchema, FailureKind, Stage } from "../../gen/index.js";
import { ManualClock } from "../../test/manual-clock.js";
import { EventLog, type SequencedEvent } from "./event-log.js";
import { OperationFailedError } from "./failure.js";
import { followEvents } from "./follow.js";
import type { Operation } from "./operation.js";
import { createRuntime } from "./runtime.js";
import type { SessionWork } from "./session-work.js";
import { Sessions } from "./sessions.js";

interface Told extends SequencedEvent {
  readonly text: string;
}

/** Sessions of a service with nothing around it, and one of them that is open. */
async function opened() {
  const runtime = createRuntime({ clock: new ManualClock() });
  const sessions = new Sessions<object>({
    runtime,
    what: "session",
    stage: Stage.SEED,
    release: async () => [],
  });
  const { operation } = sessions.create({
    id: "s1",
    context: create(EpisodeContextSchema, {}),
    kind: "Seed",
    fingerprint: "",
    lease: undefined,
    timeout: undefined,
    make: async () => ({ state: {}, answer: "seeded" }),
  });
  await operation.answer();
  const operate = (index: number, change: Partial<SessionWork<object, string>>) =>
    sessions.operate<string>("s1", {
      kind: "step",
      index,
      fingerprint: "",
      timeoutMs: 1000,
      context: { stage: Stage.STEP },
      run: () => "done",
      events: () => new EventLog<Told>(() => 1),
      ...change,
    }).operation;
  const read = async (operation: Operation<unknown>): Promise<string[]> => {
    const texts: string[] = [];
    const events = followEvents<Told>(operation, {
      runtime,
      call: new AbortController(),
      afterSequence: 0n,
      heartbeat: () => ({ sequence: 0n, text: "heartbeat" }),
    });
    for await (const { text } of events) texts.push(text);
    return texts;
  };
  return { operate, read };
}

function broken(): never {
  throw new Error("broken");
}

const breaking: Readonly<Record<string, Partial<SessionWork<object, string>>>> = {
  "its timeout cannot be told": { timeoutMs: broken },
  "its context cannot be told": { context: broken },
  "its end cannot be told": { onEnd: broken },
  "its end cannot be told, later": { run: async () => "done", onEnd: broken },
  "nobody tells its terminal event": { run: broken },
};

describe("an operation that breaks outside of its work", () => {
  for (const [how, change] of Object.entries(breaking)) {
    it(`ends those who follow it with its failure, and gives the turn back: ${how}`, async () => {
      const { operate, read } = await opened();
      const failed = operate(0, { ...change, harmless: true });
      const failure = { failure: { kind: FailureKind.INTERNAL } };
      await expect(read(failed)).rejects.toMatchObject(failure);
      await expect(read(failed)).rejects.toBeInstanceOf(OperationFailedError);
      expect(await failed.settled()).toMatchObject({ ok: false, error: failure });
      expect(await operate(1, {}).answer()).toBe("done");
    });

    it(`fails the session where its kind does: ${how} (ALL-ORDER-004)`, async () => {
      const { operate } = await opened();
      await operate(0, change).settled();
      expect(() => operate(1, {})).toThrow("an earlier operation of this session failed");
    });
  }

  it("leaves the terminal event of an operation as it was told", async () => {
    const { operate, read } = await opened();
    const operation = operate(0, {
      run: ({ operation }) => {
        (operation.events as EventLog<Told>).end({ sequence: 0n, text: "the end" });
        return broken();
      },
    });
    expect(await read(operation)).toEqual(["the end"]);
  });
});
