import type { Check, CheckInit } from "../../check/check.js";
import type { Trial } from "../../check/trial.js";
import { askSession, capOf, type Full, fill } from "./capacity.js";
import { milliseconds } from "./durations.js";
import type { SharedSession } from "./session-kind.js";
import { type SharedSubject, sessionsOf } from "./shared-subject.js";

const refusal = { code: ["RESOURCE_EXHAUSTED"], reason: ["CAPACITY", "ADMISSION_TIMEOUT"] };
const shortLeaseMs = 1_000;
/** A fill of many sessions, and waits of the queue. */
const watchdog = 60;

async function close(t: Trial, session: SharedSession | undefined): Promise<void> {
  if (session === undefined) throw new Error("a full subject holds no session");
  t.judge.answer("Close of a held one", await session.close());
}

/** R12: what a server does when all its places are taken. */
export function admissionChecks<T extends Trial>(subject: SharedSubject<T>): Check<T>[] {
  const check = (init: Omit<CheckInit, "lane" | "within">, run: (t: T) => Promise<void>): Check<T> =>
    subject.check({ lane: "capacity", within: watchdog, ...init }, run);
  const [creating] = subject.operations.filter((kind) => kind.creating);
  const queued = async (t: T): Promise<Full<T>> => {
    const full = await fill(t, subject);
    if (full.queueMs < 500) t.notApplicable("the subject has no queue of half a second");
    return full;
  };
  return [
    check(
      {
        clause: "ALL-ADM-001",
        name: "full",
        title: "it holds as many sessions as it declares, and refuses the next.",
      },
      async (t) => {
        const { kind, held, cap } = await fill(t, subject);
        t.judge.that("sessions held", held.length <= cap, {
          expected: `${cap} at most`,
          actual: held.length,
        });
        t.judge.refused("the next one", (await askSession(t, kind)).end, refusal);
      },
    ),
    check(
      {
        clause: "ALL-ERR-003",
        name: "retry-info",
        title: "a refusal for want of a place carries RetryInfo.",
      },
      async (t) => {
        const { kind } = await fill(t, subject);
        const { retryMs } = t.judge.refused("the next one", (await askSession(t, kind)).end, refusal);
        t.judge.that("RetryInfo.retry_delay", retryMs !== undefined && retryMs > 0, {
          expected: "a positive duration",
          actual: retryMs,
        });
      },
    ),
    check(
      {
        clause: "ALL-ADM-002",
        name: "not-recorded",
        title: "the name of a call that found no place is free: with other content it is admitted later.",
      },
      async (t) => {
        const { kind, held } = await fill(t, subject);
        const { session, end } = await askSession(t, kind);
        t.judge.refused("the next one", end, refusal);
        await close(t, held[0]);
        const other = await session.created.ask(session.created.otherContent());
        t.judge.equal("the status of other content under its name", other.status, undefined);
      },
    ),
    check(
      {
        clause: "ALL-ADM-003",
        name: "withdrawn",
        title: "a queued call whose caller left takes no place and makes nothing when one is freed.",
      },
      async (t) => {
        const { kind, held } = await queued(t);
        const id = t.id("withdrawn");
        const gone = kind.unopened(t, id);
        const leave = new AbortController();
        const asked = gone.created.ask(gone.created.request, { signal: leave.signal, elsewhere: true });
        await t.pause(150);
        leave.abort();
        if ((await asked).status === undefined) t.judge.inconclusive("it was admitted before it left");
        await t.pause(50);
        await close(t, held[0]);
        const { end } = await askSession(t, kind);
        t.judge.equal("the status of another one", end.status, undefined);
        const { status } = await gone.keepAlive();
        t.judge.equal("the reason for the withdrawn id", status?.reason, "SESSION_UNKNOWN");
      },
    ),
    check(
      {
        clause: "ALL-ADM-004",
        name: "replay",
        title: "while it is full the repeat of an admitted call is answered at once.",
      },
      async (t) => {
        const { held, queueMs } = await fill(t, subject);
        const [first] = held;
        if (first === undefined) throw new Error("a full subject holds no session");
        const repeat = first.created.ask(first.created.request, { elsewhere: true });
        // Where there is no queue the answer alone says it.
        const end = await (queueMs === 0 ? repeat : t.within("the repeat", queueMs / 1_000, repeat));
        t.judge.equal("the status of the repeat", end.status, undefined);
      },
    ),
    ...(creating === undefined
      ? []
      : [
          check(
            {
              clause: "ALL-ADM-004",
              name: "join",
              title: "a call that is equal to a running one joins it, though all places are taken.",
            },
            async (t) => {
              await fill(t, subject, { but: 1 });
              const slow = await creating.provoke(t, "slow");
              const running = slow.ask();
              await t.pause(20);
              const joined = await slow.ask(slow.request, { elsewhere: true });
              const first = await running;
              t.judge.equal("the status of the first", first.status, undefined);
              t.judge.equal("the status of the joined", joined.status, undefined);
              t.judge.equal("answer_id of the joined", joined.answerId, first.answerId);
            },
          ),
        ]),
    check(
      {
        clause: "ALL-ADM-005",
        name: "served-when-free",
        title: "a queued call is served when a place is freed within the queue's bound.",
      },
      async (t) => {
        const { kind, held, queueMs } = await queued(t);
        const waiting = askSession(t, kind);
        await t.pause(Math.min(200, queueMs / 3));
        await close(t, held[0]);
        t.judge.equal("the status of the queued one", (await waiting).end.status, undefined);
      },
    ),
    ...subject.operations
      .filter((operation) => !operation.creating)
      .map((operation) =>
        check(
          {
            clause: "ALL-ADM-006",
            name: `held-goes-on-${operation.rpc.toLowerCase()}`,
            title: `${operation.rpc}: at capacity a held session goes on, to its Close.`,
            features: operation.features,
          },
          async (t) => {
            await capOf(t, subject);
            const asked = await operation.prepare(t);
            const { kind } = await fill(t, subject);
            t.judge.refused("another session", (await askSession(t, kind)).end, refusal);
            t.judge.equal(`the status of its ${operation.rpc}`, (await asked.ask()).status, undefined);
            t.judge.answer("its Close", await asked.close());
          },
        ),
      ),
    check(
      {
        clause: "ALL-DESC-002",
        name: "at-capacity",
        title: "Describe answers the same while all places are taken.",
      },
      async (t) => {
        const before = t.judge.answer("Describe", await subject.describe(t));
        await fill(t, subject);
        const during = t.judge.answer("Describe at capacity", await subject.describe(t, { elsewhere: true }));
        t.judge.equal("the answer at capacity", during, before);
      },
    ),
    check(
      {
        clause: "ALL-CLOSE-010",
        name: "frees-place",
        title: "full, the next is refused; after one Close it is admitted.",
      },
      async (t) => {
        const { kind, held } = await fill(t, subject);
        t.judge.refused("the next one", (await askSession(t, kind)).end, refusal);
        await close(t, held[0]);
        t.judge.equal("its status after a Close", (await askSession(t, kind)).end.status, undefined);
      },
    ),
    check(
      {
        clause: "ALL-LEASE-005",
        name: "expiry-frees-place",
        title: "full, a session that falls silent frees its place.",
      },
      async (t) => {
        const kind = sessionsOf(subject);
        await capOf(t, subject);
        const silent = await kind.open(t, { leaseMs: shortLeaseMs });
        // The silent one has the last place: nothing waits in the queue for its end.
        await fill(t, subject, { but: 1 });
        await t.pause((milliseconds(silent.lease?.duration) ?? shortLeaseMs) + 1_500);
        t.judge.equal("the status of the next one", (await askSession(t, kind)).end.status, undefined);
        t.judge.refused("one more", (await askSession(t, kind)).end, refusal);
      },
    ),
    ...(creating === undefined
      ? []
      : [
          check(
            {
              clause: "ALL-CLOSE-012",
              name: "frees-place",
              title: "Close during a creating call ends it: the id is closed and its place is free.",
              sendsInvalid: true,
            },
            async (t) => {
              const { kind } = await fill(t, subject, { but: 1 });
              const slow = await creating.provoke(t, "slow");
              const running = slow.ask();
              await t.pause(30);
              t.judge.answer("Close during it", await slow.close({ elsewhere: true }));
              await running;
              const closed = { code: ["FAILED_PRECONDITION"], reason: ["SESSION_CLOSED"] };
              t.judge.refused("a repeat of it", await slow.ask(slow.request, { elsewhere: true }), closed);
              t.judge.equal("the status of another one", (await askSession(t, kind)).end.status, undefined);
            },
          ),
        ]),
  ];
}
