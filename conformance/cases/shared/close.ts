import { ClosedBy, type CloseReceipt, FailureKind } from "../../../gen/index.js";
import type { Check } from "../../check/check.js";
import type { Trial } from "../../check/trial.js";
import type { Closed, SharedSession } from "./session-kind.js";
import { type SharedSubject, sessionsOf } from "./shared-subject.js";

function receiptOf(t: Trial, what: string, closed: Closed): CloseReceipt {
  const { receipt } = closed;
  t.judge.that(what, receipt !== undefined, { expected: "a receipt", actual: closed });
  if (receipt === undefined) throw new Error("a receipt that was judged to be there is not");
  return receipt;
}

async function close(t: Trial, session: SharedSession, elsewhere = false): Promise<CloseReceipt> {
  const answer = t.judge.answer("Close", await session.close({ elsewhere }));
  return receiptOf(t, "the answer of Close", answer);
}

/** R5: Close, its receipt and its tombstone. */
export function closeChecks<T extends Trial>(subject: SharedSubject<T>): Check<T>[] {
  const { check } = subject;
  const kind = sessionsOf(subject);
  return [
    check(
      {
        clause: "ALL-CLOSE-001",
        name: "nothing-new",
        title: "after Close every rpc that acts on the session is refused SESSION_CLOSED.",
        sendsInvalid: true,
      },
      async (t) => {
        const session = await kind.open(t);
        const open = await kind.open(t);
        await close(t, session);
        for (const call of session.calls()) t.judge.refused(`${call.rpc} after Close`, await call.ask());
        t.judge.answer("KeepAlive of another session", await open.keepAlive());
      },
    ),
    check(
      {
        clause: "ALL-CLOSE-002",
        name: "same-receipt",
        title: "a further Close, after one whose answer was lost, tells the same receipt and already_closed.",
      },
      async (t) => {
        const session = await kind.open(t);
        const lost = new AbortController();
        const dropped = session.close({ elsewhere: true, signal: lost.signal });
        await t.pause(1);
        lost.abort();
        await dropped;
        await close(t, session);
        const second = t.judge.answer("the second Close", await session.close());
        const third = t.judge.answer("the third Close", await session.close({ elsewhere: true }));
        t.judge.equal("already_closed", receiptOf(t, "the second Close", second).alreadyClosed, true);
        t.judge.equal("cleanup_confirmed", receiptOf(t, "the second Close", second).cleanupConfirmed, true);
        t.judge.equal("the third receipt", third, second);
      },
    ),
    check(
      {
        clause: "ALL-CLOSE-003",
        name: "never-opened",
        title: "Close of an id never seen succeeds and says never_opened; of an open one it does not.",
      },
      async (t) => {
        const fresh = await close(t, kind.unopened(t, t.id("fresh")));
        t.judge.equal("never_opened of a fresh id", fresh.neverOpened, true);
        const opened = await close(t, await kind.open(t));
        t.judge.equal("never_opened of an open session", opened.neverOpened, false);
        t.judge.equal("already_closed of an open session", opened.alreadyClosed, false);
      },
    ),
    check(
      {
        clause: "ALL-CLOSE-004",
        name: "tombstone",
        title: "an id closed before it was opened cannot be opened; another one can.",
        sendsInvalid: true,
      },
      async (t) => {
        const never = kind.unopened(t, t.id("fresh"));
        await close(t, never);
        t.judge.refused("opening it", await never.created.ask());
        await kind.open(t);
      },
    ),
    check(
      {
        clause: "ALL-CLOSE-005",
        name: "no-replay-of-opening",
        title: "after Close the equal creating call is refused, not replayed.",
        sendsInvalid: true,
      },
      async (t) => {
        const session = await kind.open(t);
        t.judge.equal("the repeat before Close", (await session.created.ask()).status, undefined);
        await close(t, session);
        t.judge.refused("the repeat after Close", await session.created.ask());
      },
    ),
    check(
      {
        clause: "ALL-CLOSE-006",
        name: "another-episode",
        title: "Close by another episode is refused EPISODE_MISMATCH; by its own it is answered.",
        sendsInvalid: true,
      },
      async (t) => {
        const session = await kind.open(t);
        const episodeId = { rolloutId: t.id("other") };
        t.judge.refused("Close by another episode", await session.close({ episodeId }));
        await close(t, session);
      },
    ),
    check(
      {
        clause: "ALL-CLOSE-019",
        name: "mismatch-changes-nothing",
        title: "after a Close by another episode the session still works.",
        sendsInvalid: true,
      },
      async (t) => {
        const session = await kind.open(t);
        await session.close({ episodeId: { rolloutId: t.id("other") } });
        t.judge.answer("KeepAlive after it", await session.keepAlive());
        const receipt = await close(t, session);
        t.judge.equal("already_closed of its own Close", receipt.alreadyClosed, false);
      },
    ),
    check(
      {
        clause: "ALL-CLOSE-011",
        name: "all-at-once",
        title: "eight Closes at once all succeed, at most one of them without already_closed.",
      },
      async (t) => {
        const session = await kind.open(t);
        const receipts = await Promise.all(Array.from({ length: 8 }, () => close(t, session, true)));
        const first = receipts.filter(({ alreadyClosed }) => !alreadyClosed);
        t.judge.that("receipts without already_closed", first.length <= 1, {
          expected: "at most one",
          actual: first.length,
        });
        t.judge.each("the receipts", receipts, (receipt) =>
          t.judge.equal("never_opened", receipt.neverOpened, false),
        );
      },
    ),
    ...subject.operations
      .filter((operation) => !operation.creating)
      .flatMap((operation) => {
        const name = operation.rpc.toLowerCase();
        const { rpc, features } = operation;
        return [
          check(
            {
              clause: "ALL-CLOSE-007",
              name: `waits-for-${name}`,
              title: `Close during a ${rpc} answers only when nothing of the session runs.`,
              features,
            },
            async (t) => {
              const slow = await operation.provoke(t, "slow");
              let ended = false;
              const running = slow.ask().finally(() => {
                ended = true;
              });
              await t.pause(100);
              if (ended) t.judge.inconclusive(`the slow ${rpc} ended before Close was asked`);
              const answer = t.judge.answer("Close", await slow.close({ elsewhere: true }));
              const { cleanupConfirmed } = receiptOf(t, "the answer of Close", answer);
              // The end of the other call may still be on its way over its own connection.
              await t.pause(50);
              t.judge.that(`the ${rpc} when Close had confirmed`, !cleanupConfirmed || ended, {
                expected: "to have ended",
                actual: "still running",
              });
              await running;
            },
          ),
          check(
            {
              clause: "ALL-CLOSE-015",
              name: `still-replays-${name}`,
              title: `after Close a recorded ${rpc} still replays.`,
              features,
            },
            async (t) => {
              const asked = await operation.prepare(t);
              const first = await asked.ask();
              t.judge.equal(`the status of the ${rpc}`, first.status, undefined);
              t.judge.answer("Close", await asked.close());
              const again = await asked.ask(asked.request, { elsewhere: true });
              t.judge.equal("the repeat after Close", again.answer, first.answer);
            },
          ),
          check(
            {
              clause: "ALL-CLOSE-009",
              name: `cancels-${name}`,
              title: `what Close ends of a ${rpc} is recorded as failure CANCELLED.`,
              features,
            },
            async (t) => {
              const hang = await operation.provoke(t, "hang");
              const running = hang.ask();
              await t.pause(100);
              t.judge.answer("Close", await hang.close({ elsewhere: true }));
              const end = await running;
              const again = await hang.ask(hang.request, { elsewhere: true });
              t.judge.that("the failure", end.failure !== undefined, {
                expected: "a recorded failure",
                actual: end.status ?? end.answer,
              });
              t.judge.equal("its kind", end.failure?.kind, FailureKind.CANCELLED);
              t.judge.equal("the repeat's failure", again.failure, end.failure);
            },
          ),
        ];
      }),
    check(
      {
        clause: "ALL-LEASE-008",
        name: "closed-by-caller",
        title: "Close of a live session says closed_by CALLER.",
      },
      async (t) => {
        const receipt = await close(t, await kind.open(t));
        t.judge.equal("closed_by", receipt.closedBy, ClosedBy.CALLER);
      },
    ),
  ];
}
