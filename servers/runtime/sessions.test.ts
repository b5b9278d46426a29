import { create } from "@bufbuild/protobuf";
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { EpisodeContextSchema, FailureKind, Stage } from "../../gen/index.js";
import { ManualClock } from "../../test/manual-clock.js";
import type { Slot } from "./admission.js";
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
  const lines: string[] = [];
  const log = pino({ level: "debug" }, { write: (line: string) => lines.push(line) });
  const runtime = createRuntime({ clock: new ManualClock(), log });
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
  return { operate, read, lines };
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

    it(`is in the log: ${how} (ALL-FAIL-004)`, async () => {
      const { operate, lines } = await opened();
      await operate(0, { ...change, harmless: true }).settled();
      expect(lines.map((line) => JSON.parse(line).err.message)).toEqual(["broken"]);
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

/** So many turns of the promises' own queue, more than there are between any two things that are looked at here. */
const gaps = Array.from({ length: 20 }, (_, i) => i);

async function microtasks(count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) await Promise.resolve();
}

describe("a Close that comes right when something may begin (ALL-CLOSE-007, ALL-CLOSE-009)", () => {
  /** Sessions whose places the test gives. */
  function gated() {
    const counts = { made: 0, released: 0, late: 0, places: 0 };
    let give: (slot: Slot) => void = () => {};
    const place = new Promise<Slot>((resolve) => {
      give = resolve;
    });
    const runtime = createRuntime({ clock: new ManualClock(), admission: () => ({ enter: () => place }) });
    const sessions = new Sessions<object>({
      runtime,
      what: "session",
      stage: Stage.SEED,
      async release() {
        counts.released += 1;
        return [];
      },
    });
    const { operation } = sessions.create({
      id: "s1",
      context: create(EpisodeContextSchema, {}),
      kind: "Seed",
      fingerprint: "",
      lease: undefined,
      timeout: undefined,
      async make() {
        counts.made += 1;
        await new Promise(setImmediate);
        return { state: {}, answer: "seeded" };
      },
    });
    const release = (): void => {
      counts.places += 1;
    };
    return { counts, sessions, operation, enter: () => give({ release }) };
  }

  it.each(gaps)(
    "either prevents an opening or releases what it makes: %i turns after its place came",
    async (gap) => {
      const { counts, sessions, operation, enter } = gated();
      enter();
      await microtasks(gap);
      const { receipt } = await sessions.close("s1", undefined);
      expect(receipt.cleanupConfirmed).toBe(true);
      expect(counts.released).toBe(counts.made);
      await new Promise(setImmediate);
      await new Promise(setImmediate);
      expect(counts.released).toBe(counts.made);
      const settled = operation.settled();
      if (counts.made === 0) await expect(settled).rejects.toMatchObject({ reasonName: "SESSION_CLOSED" });
      else expect(await settled).toMatchObject({ error: { failure: { kind: FailureKind.CANCELLED } } });
    },
  );

  it("makes nothing for a caller that left when its place had come, and gives the place back (ALL-ADM-003)", async () => {
    const { counts, sessions, operation, enter } = gated();
    const caller = new AbortController();
    const waits = operation.settled(caller);
    enter();
    caller.abort();
    await expect(waits).rejects.toMatchObject({ reasonName: "CAPACITY" });
    expect(counts).toMatchObject({ made: 0, places: 1 });
    // Nothing is known of it: another Seed under its name would be the first.
    expect(() => sessions.known("s1")).toThrow(/no session of this id/);
  });

  it.each(gaps)("either prevents an operation or ends it: %i turns after its turn came", async (gap) => {
    const { counts, sessions, operation, enter } = gated();
    enter();
    await operation.answer();
    let go: () => void = () => {};
    const held = new Promise<void>((resolve) => {
      go = resolve;
    });
    const step = (index: number, run: SessionWork<object, string>["run"]) =>
      sessions.operate<string>("s1", {
        kind: "step",
        index,
        fingerprint: "",
        timeoutMs: 1000,
        context: { stage: Stage.STEP },
        run,
      }).operation;
    step(0, () => held.then(() => "done"));
    const next = step(1, async ({ execution }) => {
      await new Promise(setImmediate);
      if (counts.released > 0 && !execution.signal.aborted) counts.late += 1;
      return "done";
    });
    go();
    await microtasks(gap);
    const { receipt } = await sessions.close("s1", undefined);
    expect(receipt.cleanupConfirmed).toBe(true);
    await Promise.allSettled([next.settled()]);
    await new Promise(setImmediate);
    expect(counts).toMatchObject({ released: 1, late: 0 });
  });
});
