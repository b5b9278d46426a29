import { ClosedBy } from "../../../gen/index.js";
import type { Check } from "../../check/check.js";
import type { Trial } from "../../check/trial.js";
import { milliseconds } from "./durations.js";
import type { SharedSession } from "./session-kind.js";
import { type SharedSubject, sessionsOf } from "./shared-subject.js";

/** What is asked for as the shortest lease; a server may grant up to ten times as much (ALL-LEASE-015). */
const shortLeaseMs = 1_000;
/** After this much of a lease's silence beyond its end a session must be gone. */
const slackMs = 1_000;
/** A lease of 10 s, three of them in a row, and slack. */
const waitingWatchdog = 60;

function leaseOf(t: Trial, session: SharedSession): number {
  const lease = milliseconds(session.lease?.duration);
  t.judge.that("the lease echoed", lease !== undefined && lease > 0, {
    expected: "a positive duration",
    actual: session.lease,
  });
  return lease ?? 0;
}

/** R6: what a caller opens ends by itself. */
export function leaseChecks<T extends Trial>(subject: SharedSubject<T>): Check<T>[] {
  const kind = sessionsOf(subject);
  const check = (
    init: { clause: string; name: string; title: string; sendsInvalid?: boolean },
    run: (t: T) => Promise<void>,
  ): Check<T> => subject.check({ lane: "waiting", within: waitingWatchdog, ...init }, run);
  const short = async (t: T): Promise<{ session: SharedSession; lease: number }> => {
    const session = await kind.open(t, { leaseMs: shortLeaseMs });
    return { session, lease: leaseOf(t, session) };
  };
  const checks = [
    check(
      {
        clause: "ALL-LEASE-001",
        name: "echoed-within-bounds",
        title:
          "a lease below the least is raised to it, one above the greatest lowered, and the echo says so.",
      },
      async (t) => {
        const { minimum, maximum } = kind.bounds(t);
        t.judge.that("Describe's bounds of leases", minimum !== undefined && maximum !== undefined, {
          expected: "a minimum and a maximum",
          actual: { minimum, maximum },
        });
        const low = leaseOf(t, await kind.open(t, { leaseMs: 1 }));
        const high = leaseOf(t, await kind.open(t, { leaseMs: 400 * 24 * 3_600_000 }));
        t.judge.equal("the lease below the least", low, minimum);
        t.judge.equal("the lease above the greatest", high, maximum);
      },
    ),
    check(
      {
        clause: "ALL-LEASE-015",
        name: "short-enough",
        title: "asked for 1 s, a lease of 10 s or less is granted.",
      },
      async (t) => {
        const { lease } = await short(t);
        t.judge.that("the shortest lease", lease <= 10_000, {
          expected: "10 s or less",
          actual: `${lease} ms`,
        });
      },
    ),
    check(
      {
        clause: "ALL-LEASE-010",
        name: "default",
        title: "without a lease asked for it is 2 minutes, or the server's bound.",
      },
      async (t) => {
        const { minimum = 0, maximum = Number.POSITIVE_INFINITY } = kind.bounds(t);
        const lease = leaseOf(t, await kind.open(t));
        t.judge.equal(
          "the lease of a session that asked for none",
          lease,
          Math.min(Math.max(120_000, minimum), maximum),
        );
      },
    ),
    check(
      {
        clause: "ALL-LEASE-002",
        name: "lives-as-long",
        title: "a request every 0.8 of the lease keeps a session alive, five times over.",
      },
      async (t) => {
        const { session, lease } = await short(t);
        for (let round = 0; round < 5; round += 1) {
          await t.pause(lease * 0.8);
          t.judge.answer(`KeepAlive ${round}`, await session.keepAlive());
        }
      },
    ),
    check(
      {
        clause: "ALL-LEASE-003",
        name: "ends-in-silence",
        title: "a session that hears nothing for its lease ends; one that is kept alive does not.",
        sendsInvalid: true,
      },
      async (t) => {
        const [{ session, lease }, kept] = [await short(t), await short(t)];
        for (let waited = 0; waited < lease + slackMs; waited += lease / 3) {
          await t.pause(lease / 3);
          t.judge.answer("KeepAlive of the other", await kept.session.keepAlive());
        }
        const { status } = await session.keepAlive();
        t.judge.that("KeepAlive after the silence", status !== undefined, {
          expected: "a refusal",
          actual: "OK",
        });
      },
    ),
    check(
      {
        clause: "ALL-LEASE-004",
        name: "expired",
        title: "after its lease every call of a session is refused SESSION_EXPIRED.",
        sendsInvalid: true,
      },
      async (t) => {
        const { session, lease } = await short(t);
        await t.pause(lease + slackMs);
        for (const call of session.calls()) t.judge.refused(`${call.rpc} after expiry`, await call.ask());
      },
    ),
    check(
      {
        clause: "ALL-LEASE-006",
        name: "keep-alive-renews",
        title: "KeepAlive renews the lease, counted from now.",
      },
      async (t) => {
        const { session, lease } = await short(t);
        for (let round = 0; round < 9; round += 1) {
          await t.pause(lease / 3);
          t.judge.answer(`KeepAlive ${round}`, await session.keepAlive());
        }
        await t.pause(lease * 0.7);
        t.judge.answer("KeepAlive 0.7 of a lease later", await session.keepAlive());
      },
    ),
    check(
      {
        clause: "ALL-LEASE-008",
        name: "closed-by-lease",
        title: "Close after expiry answers the receipt, with closed_by LEASE.",
      },
      async (t) => {
        const { session, lease } = await short(t);
        await t.pause(lease + slackMs);
        const { receipt } = t.judge.answer("Close after expiry", await session.close());
        t.judge.equal("closed_by", receipt?.closedBy, ClosedBy.LEASE);
        t.judge.equal("never_opened", receipt?.neverOpened, false);
      },
    ),
    check(
      {
        clause: "ALL-LEASE-013",
        name: "refusal-does-not-renew",
        title: "refused calls each third of the lease do not keep a session alive.",
        sendsInvalid: true,
      },
      async (t) => {
        const { session, lease } = await short(t);
        for (let waited = 0; waited < lease + slackMs; waited += lease / 3) {
          await t.pause(lease / 3);
          await session.close({ episodeId: { rolloutId: t.id("other") } });
        }
        const { status } = await session.keepAlive();
        t.judge.equal("reason of KeepAlive after the lease", status?.reason, "SESSION_EXPIRED");
      },
    ),
    check(
      {
        clause: "ALL-LEASE-014",
        name: "unknown",
        title: "any call but Close on an id never known is SESSION_UNKNOWN, and makes nothing.",
        sendsInvalid: true,
      },
      async (t) => {
        const never = kind.unopened(t, t.id("unknown"));
        for (const call of never.calls()) t.judge.refused(`${call.rpc} of an unknown id`, await call.ask());
        t.judge.equal("opening it afterwards", (await never.created.ask()).status, undefined);
      },
    ),
  ];
  const running = subject.operations
    .filter((operation) => !operation.creating)
    .map((operation) =>
      subject.check(
        {
          clause: "ALL-LEASE-007",
          name: `stands-still-in-${operation.rpc.toLowerCase()}`,
          title: `the lease stands still while a ${operation.rpc} runs that takes longer.`,
          lane: "waiting",
          within: waitingWatchdog,
          features: operation.features,
        },
        async (t) => {
          const long = await operation.provoke(t, "long", { leaseMs: shortLeaseMs });
          const end = await long.ask();
          t.judge.equal(`the status of a ${operation.rpc} longer than the lease`, end.status, undefined);
          const next = await (await operation.following(t, long)).ask();
          t.judge.equal("the status of the next", next.status, undefined);
        },
      ),
    );
  return [...checks, ...running];
}
