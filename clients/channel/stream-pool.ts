import type { ChannelStats } from "../channel.js";
import type { CallEnd } from "./call-end.js";

/** A connection of a pool. */
export interface PoolMember {
  /** `connecting` has not taken a call yet; `gone` takes no more. */
  readonly state: "connecting" | "ready" | "gone";
  /** Calls on it. The pool counts them. */
  active: number;
  /** Calls that it may hold at once. */
  readonly capacity: number;
}

/** A call that wants a place on a connection. */
export interface PoolWaiter<M> {
  /** It has a place now. Called at most once. */
  assign(member: M): void;
  /** No connection could be made. */
  fail(end: CallEnd): void;
}

/** How a pool makes its connections. */
export interface PoolOptions<M> {
  /** Begins a connection. Its later states are told by the pool's methods. */
  open(): M;
  /** Connections to spread calls over, while there are calls for them. */
  readonly spread: number;
  /** Connections at most. */
  readonly maxConnections: number;
  /** Calls on a connection whose bound is not known yet. */
  readonly assumedCapacity: number;
}

/**
 * Shares calls out over connections. A connection that is full has more connections opened beside it, up to the
 * bound; only then do calls wait, first come, first served, and {@link waitsFor} says for what (field case 61).
 */
export class StreamPool<M extends PoolMember> {
  readonly #options: PoolOptions<M>;
  readonly #waiters = new Set<PoolWaiter<M>>();
  #members: M[] = [];
  #active = 0;
  /** Bound of the connection that was last ready. */
  #knownCapacity: number | undefined;

  constructor(options: PoolOptions<M>) {
    this.#options = options;
  }

  /** Gives the waiter a place, now or later. */
  request(waiter: PoolWaiter<M>): void {
    if (this.#waiters.size === 0) {
      const member = this.#pick();
      if (member !== undefined) {
        this.#assign(member, waiter);
        return;
      }
    }
    this.#waiters.add(waiter);
    this.#open();
  }

  /** The waiter has left. */
  withdraw(waiter: PoolWaiter<M>): void {
    this.#waiters.delete(waiter);
  }

  /** A call has given its place back. */
  release(member: M): void {
    member.active -= 1;
    this.#active -= 1;
    if (this.#waiters.size > 0) this.#share();
  }

  /** A connection has become ready, or its bound has changed. */
  ready(member: M): void {
    this.#knownCapacity = member.capacity;
    this.#share();
    this.#open();
  }

  /** A connection takes no more calls. Those on it go on. */
  gone(member: M): void {
    this.#members = this.#members.filter((other) => other !== member);
    if (this.#waiters.size > 0) this.#open();
  }

  /** A connection could not be made. Calls go on waiting only where another one may yet take them. */
  failed(member: M, end: CallEnd): void {
    this.#members = this.#members.filter((other) => other !== member);
    if (this.#members.length === 0) this.failWaiters(end);
  }

  /** Turns away all calls that wait. */
  failWaiters(end: CallEnd): void {
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const waiter of waiters) waiter.fail(end);
  }

  /** What a waiting call waits for, for messages. */
  waitsFor(): string {
    const ready = this.#members.filter((member) => member.state === "ready");
    if (ready.length === 0) return "a connection";
    return (
      `a free stream: ${this.#active} calls are on their way over ${ready.length} of at most ` +
      `${this.#options.maxConnections} connections; raise maxConnections of the channel`
    );
  }

  /** All connections that take calls or may come to. */
  get members(): readonly M[] {
    return this.#members;
  }

  stats(): ChannelStats {
    const perConnection = this.#knownCapacity ?? this.#options.assumedCapacity;
    return {
      connections: this.#members.length,
      activeCalls: this.#active,
      waitingCalls: this.#waiters.size,
      capacity: perConnection * this.#options.maxConnections,
    };
  }

  /** The least busy connection that has room; undefined where none has. */
  #pick(): M | undefined {
    let best: M | undefined;
    for (const member of this.#members) {
      if (member.state !== "ready" || member.active >= member.capacity) continue;
      if (best === undefined || member.active < best.active) best = member;
    }
    if (best !== undefined && best.active > 0 && this.#members.length < this.#options.spread) this.#add();
    return best;
  }

  #assign(member: M, waiter: PoolWaiter<M>): void {
    member.active += 1;
    this.#active += 1;
    waiter.assign(member);
  }

  #share(): void {
    for (const waiter of this.#waiters) {
      const member = this.#pick();
      if (member === undefined) return;
      this.#waiters.delete(waiter);
      this.#assign(member, waiter);
    }
  }

  /** Opens as many connections as the waiting calls need. */
  #open(): void {
    const { maxConnections, assumedCapacity } = this.#options;
    let room = 0;
    for (const member of this.#members) {
      if (member.state === "connecting") room += this.#knownCapacity ?? assumedCapacity;
    }
    while (room < this.#waiters.size && this.#members.length < maxConnections) {
      const member = this.#add();
      if (member.state === "ready") this.#share();
      else room += this.#knownCapacity ?? assumedCapacity;
    }
  }

  #add(): M {
    const member = this.#options.open();
    this.#members.push(member);
    return member;
  }
}
