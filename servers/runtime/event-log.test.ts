import { describe, expect, it } from "vitest";
import { ManualClock } from "../../test/manual-clock.js";
import { EventLog, keptEventBytes } from "./event-log.js";

interface Event {
  sequence: bigint;
  readonly text: string;
  readonly bytes?: number;
}

const event = (text: string, bytes = 10): Event => ({ sequence: 0n, text, bytes });

function createLog() {
  const clock = new ManualClock();
  const log = new EventLog<Event>(({ bytes = 10 }) => bytes);
  const leave = new AbortController();
  const follow = (afterSequence = 0n, signal: AbortSignal = leave.signal) =>
    log.follow({
      afterSequence,
      signal,
      clock,
      heartbeat: () => event("heartbeat"),
      gap: (until) => event(`gap ${until}`),
    });
  return { clock, log, leave, follow };
}

async function texts(events: AsyncIterable<Event>): Promise<string[]> {
  const seen: string[] = [];
  for await (const { sequence, text } of events) seen.push(`${sequence} ${text}`);
  return seen;
}

describe("EventLog", () => {
  it("numbers events from 1 without gaps, and resumes behind any (ALL-EVT-001, ALL-EVT-005)", async () => {
    const { log, follow } = createLog();
    for (const text of ["a", "b", "c"]) log.append(event(text));
    log.end(event("end"));
    expect(await texts(follow())).toEqual(["1 a", "2 b", "3 c", "4 end"]);
    expect(await texts(follow(2n))).toEqual(["3 c", "4 end"]);
    expect(await texts(follow(4n))).toEqual([]);
    expect(await texts(follow(99n))).toEqual([]);
  });

  it("tells a reader who is too far behind of the gap, then gives what is left (ALL-EVT-006)", async () => {
    const { log, follow } = createLog();
    for (let i = 1; i <= 8; i += 1) log.append(event(`${i}`, keptEventBytes / 4));
    log.end(event("end", 10));
    expect(await texts(follow())).toEqual(["0 gap 4", "5 5", "6 6", "7 7", "8 8", "9 end"]);
    expect(await texts(follow(6n))).toEqual(["7 7", "8 8", "9 end"]);
  });

  it("keeps at least 1 MiB of events (ALL-KEEP-003)", async () => {
    const { log, follow } = createLog();
    for (let i = 1; i <= 9; i += 1) log.append(event(`${i}`, 100 << 10));
    log.end(event("end"));
    expect((await texts(follow()))[0]).toBe("1 1");
  });

  it("keeps as much as it is told to, goes on with another's count, and closes without a terminal event", async () => {
    const { clock, leave } = createLog();
    const log = new EventLog<Event>(() => 1, { kept: 2, last: 5n });
    for (const text of ["a", "b", "c"]) log.append(event(text));
    log.close();
    const options = { signal: leave.signal, clock, heartbeat: () => event("heartbeat") };
    const gap = (until: bigint) => event(`gap ${until}`);
    expect(await texts(log.follow({ ...options, gap, afterSequence: 5n }))).toEqual([
      "0 gap 6",
      "7 b",
      "8 c",
    ]);
    expect(await texts(log.follow({ ...options, gap, afterSequence: 8n }))).toEqual([]);
  });

  it("shows deltas to those who read now, unnumbered, and keeps none (ALL-EVT-002)", async () => {
    const { log, follow } = createLog();
    const reading = texts(follow());
    await Promise.resolve();
    log.show(event("delta"));
    await new Promise(setImmediate);
    log.append(event("item"));
    log.end(event("end"));
    expect(await reading).toEqual(["0 delta", "1 item", "2 end"]);
    expect(await texts(follow())).toEqual(["1 item", "2 end"]);
  });

  it("does not let a slow or absent reader stall it, nor grow for one (ALL-EVT-007)", async () => {
    const { log, follow } = createLog();
    const slow = follow();
    log.append(event("first"));
    expect((await slow.next()).value).toMatchObject({ text: "first" });
    for (let i = 0; i < 10_000; i += 1) log.show(event("delta"));
    log.end(event("end"));
    const rest = await texts(slow);
    expect(rest).toEqual(["2 end"]);
  });

  it("says something within a second, then every fifteen at the latest (ALL-ALIVE-001, ALL-ALIVE-002)", async () => {
    const { clock, log, follow } = createLog();
    const reader = follow();
    const next = async (ms: number) => {
      const waiting = reader.next();
      await new Promise(setImmediate);
      clock.advance(ms);
      return (await waiting).value?.text;
    };
    expect(await next(1000)).toBe("heartbeat");
    expect(await next(15_000)).toBe("heartbeat");
    log.append(event("a"));
    expect(await next(0)).toBe("a");
    expect(await next(15_000)).toBe("heartbeat");
  });

  it("ends with its reader, and counts those who read", async () => {
    const { log, leave, follow } = createLog();
    const reading = texts(follow());
    await new Promise(setImmediate);
    expect(log.readers).toBe(1);
    leave.abort();
    expect(await reading).toEqual([]);
    expect(log.readers).toBe(0);
  });

  it("gives readers the refusal of an operation that never began", async () => {
    const { log, follow } = createLog();
    const reading = texts(follow());
    await new Promise(setImmediate);
    log.close(new Error("refused"));
    await expect(reading).rejects.toThrow("refused");
    await expect(texts(follow())).rejects.toThrow("refused");
  });

  it("lets all but the terminal event go when it is told to", async () => {
    const { log, follow } = createLog();
    for (const text of ["a", "b"]) log.append(event(text));
    log.end(event("end"));
    log.shrink();
    expect(await texts(follow())).toEqual(["0 gap 2", "3 end"]);
  });
});
