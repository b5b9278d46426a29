import { describe, expect, it } from "vitest";
import { type CallEnd, unsentEnd } from "./call-end.js";
import { type PoolMember, StreamPool } from "./stream-pool.js";

interface TestMember extends PoolMember {
  state: "connecting" | "ready" | "gone";
  capacity: number;
}

function makePool(options: {
  readonly maxConnections: number;
  readonly spread?: number;
  readonly assumed?: number;
}) {
  const members: TestMember[] = [];
  const pool = new StreamPool<TestMember>({
    open: () => {
      const member: TestMember = { state: "connecting", active: 0, capacity: 0 };
      members.push(member);
      return member;
    },
    spread: options.spread ?? 1,
    maxConnections: options.maxConnections,
    assumedCapacity: options.assumed ?? 10,
  });
  const ready = (index: number, capacity: number): void => {
    const member = members[index];
    if (member === undefined) throw new Error(`no connection ${index}`);
    Object.assign(member, { state: "ready", capacity });
    pool.ready(member);
  };
  const end = (index: number, how: "gone" | "failed"): void => {
    const member = members[index];
    if (member === undefined) throw new Error(`no connection ${index}`);
    member.state = "gone";
    if (how === "gone") pool.gone(member);
    else pool.failed(member, unsentEnd("refused"));
  };
  const calls: (TestMember | CallEnd | undefined)[] = [];
  const call = (): number => {
    const index = calls.push(undefined) - 1;
    const set = (value: TestMember | CallEnd): void => {
      calls[index] = value;
    };
    pool.request({ assign: set, fail: set });
    return index;
  };
  const where = () =>
    calls.map((at) => (at === undefined ? "waits" : "code" in at ? "failed" : members.indexOf(at)));
  return { pool, members, ready, end, call, where };
}

describe("StreamPool", () => {
  it("opens as many connections as the waiting calls need, once it knows how many one takes", () => {
    const { members, ready, call, where } = makePool({ maxConnections: 8, assumed: 1000 });
    for (let count = 0; count < 10; count++) call();
    expect(members.length).toBe(1);
    ready(0, 3);
    expect(members.length).toBe(4);
    ready(1, 3);
    ready(2, 3);
    ready(3, 3);
    expect(where()).toEqual([0, 0, 0, 1, 1, 1, 2, 2, 2, 3]);
    expect(members.length).toBe(4);
  });

  it("gives a free place to whoever waits longest", () => {
    const { pool, members, ready, call, where } = makePool({ maxConnections: 1 });
    for (let count = 0; count < 3; count++) call();
    ready(0, 1);
    expect(where()).toEqual([0, "waits", "waits"]);
    expect(pool.waitsFor()).toContain("1 calls are on their way over 1 of at most 1 connections");
    const [member] = members;
    if (member !== undefined) pool.release(member);
    expect(where()).toEqual([0, 0, "waits"]);
    expect(pool.stats()).toEqual({ connections: 1, activeCalls: 1, waitingCalls: 1, capacity: 1 });
  });

  it("one connection that fails turns nobody away while another one may come", () => {
    const { members, end, ready, call, where } = makePool({ maxConnections: 4, assumed: 1 });
    call();
    call();
    expect(members.length).toBe(2);
    end(0, "failed");
    expect(where()).toEqual(["waits", "waits"]);
    ready(1, 5);
    expect(where()).toEqual([1, 1]);
  });

  it("the last one that fails turns all away, and the next call tries again", () => {
    const { members, end, call, where } = makePool({ maxConnections: 4 });
    call();
    call();
    end(0, "failed");
    expect(where()).toEqual(["failed", "failed"]);
    call();
    expect(members.length).toBe(2);
  });

  it("opens another connection for those who wait when one is gone", () => {
    const { members, ready, end, call, where } = makePool({ maxConnections: 1 });
    call();
    call();
    ready(0, 1);
    end(0, "gone");
    expect(members.length).toBe(2);
    ready(1, 1);
    expect(where()).toEqual([0, 1]);
  });

  it("follows a server that changes its bound", () => {
    const { ready, call, where } = makePool({ maxConnections: 1 });
    for (let count = 0; count < 4; count++) call();
    ready(0, 1);
    ready(0, 3);
    expect(where()).toEqual([0, 0, 0, "waits"]);
  });

  it("forgets a call that left", () => {
    const { pool, ready } = makePool({ maxConnections: 1 });
    const waiter = { assign: () => expect.unreachable(), fail: () => expect.unreachable() };
    pool.request(waiter);
    pool.withdraw(waiter);
    ready(0, 5);
    expect(pool.stats()).toMatchObject({ activeCalls: 0, waitingCalls: 0 });
  });
});
