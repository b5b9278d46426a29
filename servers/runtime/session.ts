import { create } from "@bufbuild/protobuf";
import {
  type ClosedBy,
  type EpisodeContext,
  type Lease,
  LeaseSchema,
  type LeftResource,
} from "../../gen/index.js";
import type { Slot } from "./admission.js";
import type { Timer } from "./clock.js";
import { fromMs } from "./duration.js";
import type { Execution } from "./execution.js";
import type { Operation } from "./operation.js";
import { Turn } from "./turn.js";

/** How a session ended. */
export interface SessionEnd {
  readonly by: ClosedBy;
  /** Nothing of the session is left. */
  confirmed: boolean;
  left: LeftResource[];
  /** The release that runs now, if one does. */
  releasing: Promise<void> | undefined;
  /** Tries again what a release left; there is one however often the session is closed. */
  retry: Timer | undefined;
}

/** Where a session stands. `waiting`: asked for, not yet admitted. */
export type SessionPhase = "waiting" | "live" | "ended";

/**
 * What a caller opened under an id of its own: an environment's or an agent's session, a gateway. `S` is what the
 * service keeps of it; it is there from the end of the opening operation on.
 */
export class Session<S> {
  phase: SessionPhase = "waiting";
  /** What it is worked with; undefined until its opening has succeeded, and for ever where it has not. */
  state: S | undefined;
  /** What was made for it and is to be released, also where its opening had failed by then. */
  held: S | undefined;
  /** An operation failed and the session cannot go on (ALL-ORDER-004). */
  failed = false;
  end: SessionEnd | undefined;
  /** Next index of each kind of operation that is numbered (ALL-ORDER-001). */
  readonly next = new Map<string, number>();
  /** Index of the first operation of each kind that this session itself had; absent: 0. */
  first: ReadonlyMap<string, number> = new Map();
  readonly turn = new Turn();
  /** What runs now; a Close cancels it. */
  readonly executions = new Set<Execution<unknown>>();
  /** Calls that run beside the operations, such as a gateway's; the lease stands still while there are any. */
  holds = 0;
  /** Work that has an outcome and has not returned yet. */
  readonly loose = new Set<Promise<void>>();
  /** The service's release, while it runs. */
  releaseWork: Promise<readonly LeftResource[]> | undefined;
  slot: Slot | undefined;
  /** The opening operation, while it waits for a place. */
  opening: Operation<unknown> | undefined;
  leaseMs = 0;
  /** When the session ends by silence; moved by every request that is served. */
  deadline = 0;
  timer: Timer | undefined;
  bornAt = 0;

  constructor(
    readonly id: string,
    /** Absent for an id that was closed before it was ever opened. */
    readonly context: EpisodeContext | undefined,
    /** Where the names of its operations live; empty for one that no table has. */
    readonly scope = "",
  ) {}

  /** Number of operations of a kind that were begun, with those that it goes on behind: the next one's index. */
  begun(kind: string): number {
    return this.next.get(kind) ?? 0;
  }

  /** Number of operations of a kind that were begun in this session itself. */
  performed(kind: string): number {
    return this.begun(kind) - (this.first.get(kind) ?? 0);
  }
}

/** A session that is open and was made. */
export type OpenSession<S> = Session<S> & { state: S };

/** The lease as answers echo it (ALL-LEASE-001). */
export function describeLease(leaseMs: number, maxLifetimeMs: number | undefined): Lease {
  return create(LeaseSchema, {
    duration: fromMs(leaseMs),
    ...(maxLifetimeMs === undefined ? {} : { maxLifetime: fromMs(maxLifetimeMs) }),
  });
}
