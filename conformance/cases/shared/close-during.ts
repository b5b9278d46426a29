import { ClosedBy } from "../../../gen/index.js";
import type { Check, CheckInit } from "../../check/check.js";
import type { Trial } from "../../check/trial.js";
import { milliseconds } from "./durations.js";
import { perOperation, type SharedSubject, sessionsOf } from "./shared-subject.js";

const closed = { code: ["FAILED_PRECONDITION"], reason: ["SESSION_CLOSED"] };
const tenMinutes = 600_000;

/** R5 and R6 where something runs, hangs or waits; and R14 after the end. */
export function closeDuringChecks<T extends Trial>(subject: SharedSubject<T>): Check<T>[] {
  const kind = sessionsOf(subject);
  const check = (init: CheckInit, run: (t: T) => Promise<void>): Check<T> => subject.check(init, run);
  return [
    ...perOperation(
      subject,
      {
        clause: "ALL-CLOSE-008",
        name: "cancels",
        title: "one that would never end is ended by Close, long before its timeout.",
        only: (operation) => !operation.creating,
      },
      async (t, operation) => {
        const hang = await operation.provoke(t, "hang");
        const running = hang.ask(hang.timed(120_000));
        await t.pause(100);
        t.judge.answer("Close", await hang.close({ elsewhere: true }));
        t.judge.that("its end", (await running).failure !== undefined, {
          expected: "a recorded failure",
          actual: "none",
        });
      },
    ),
    ...perOperation(
      subject,
      {
        clause: "ALL-CLOSE-012",
        name: "during",
        title: "Close while it is being done ends it: the id is closed.",
        only: (operation) => operation.creating,
        sendsInvalid: true,
      },
      async (t, operation) => {
        const slow = await operation.provoke(t, "slow");
        const running = slow.ask();
        await t.pause(30);
        t.judge.answer("Close", await slow.close({ elsewhere: true }));
        await running;
        t.judge.refused("a repeat", await slow.ask(slow.request, { elsewhere: true }), closed);
        const { receipt } = t.judge.answer("a second Close", await slow.close());
        t.judge.equal("already_closed of it", receipt?.alreadyClosed, true);
        const other = await operation.prepare(t);
        t.judge.equal("the status of another one", (await other.ask()).status, undefined);
      },
    ),
    check(
      {
        clause: "ALL-LEASE-011",
        name: "lifetime",
        title: "a session that is kept alive ends at max_lifetime, which its lease told.",
        lane: "waiting",
        within: 90,
        sendsInvalid: true,
      },
      async (t) => {
        const session = await kind.open(t);
        const lifetime = milliseconds(session.lease?.maxLifetime);
        if (lifetime === undefined) return t.notApplicable("the subject ends no session by age");
        if (lifetime > 60_000) t.notApplicable(`a session's ${lifetime} ms are longer than the suite waits`);
        const { maxLifetimeMs } = { maxLifetimeMs: lifetime + 1_000 };
        for (let waited = 0; waited < maxLifetimeMs; waited += 500) {
          await t.pause(500);
          await session.keepAlive();
        }
        t.judge.refused("KeepAlive after max_lifetime", await session.keepAlive());
        const { receipt } = t.judge.answer("Close", await session.close());
        t.judge.equal("closed_by", receipt?.closedBy, ClosedBy.LIFETIME);
      },
    ),
    check(
      {
        clause: "ALL-KEEP-002",
        name: "ten-minutes",
        title: "ten minutes after Close its receipt, its tombstone and a recorded answer are there.",
        lane: "waiting",
        within: 700,
        slow: true,
        sendsInvalid: true,
      },
      async (t) => {
        const [operation] = subject.operations.filter((one) => !one.creating && one.available(t));
        const session = await kind.open(t);
        const asked = await operation?.prepare(t);
        const first = await asked?.ask();
        if (asked !== undefined) t.judge.answer("Close", await asked.close());
        const before = t.judge.answer("Close", await session.close());
        await t.pause(tenMinutes - 2_000);
        const { receipt } = t.judge.answer("Close ten minutes later", await session.close());
        t.judge.equal("the receipt", { ...receipt, alreadyClosed: false }, { ...before.receipt });
        t.judge.refused("opening it", await session.created.ask(), closed);
        if (asked !== undefined) t.judge.equal("the repeat", (await asked.ask()).answer, first?.answer);
      },
    ),
  ];
}
