import { ClosedBy } from "../../gen/index.js";
import type { Runtime } from "./runtime.js";
import type { Session } from "./session.js";

/**
 * Ends a session by silence or age (R6). The lease stands still while an operation or a held call runs
 * (ALL-LEASE-007); nothing moves the end of life (ALL-LEASE-011). A request only moves `session.deadline`: the one timer
 * of a session looks when it goes off whether the deadline has moved.
 */
export function watchLease<S>(session: Session<S>, runtime: Runtime, end: (by: ClosedBy) => void): void {
  const { clock, limits } = runtime;
  const endOfLife =
    limits.maxLifetimeMs === undefined ? Number.POSITIVE_INFINITY : session.bornAt + limits.maxLifetimeMs;
  const check = (): void => {
    const now = clock.now();
    if (session.end !== undefined) return;
    const busy = session.executions.size > 0 || session.holds > 0;
    if (now >= endOfLife) {
      end(ClosedBy.LIFETIME);
      return;
    }
    if (!busy && now >= session.deadline) {
      end(ClosedBy.LEASE);
      return;
    }
    const silent = busy ? now + session.leaseMs : session.deadline;
    session.timer = clock.setTimer(Math.min(silent, endOfLife) - now, check);
  };
  session.timer = clock.setTimer(Math.min(session.leaseMs, endOfLife - clock.now()), check);
}
