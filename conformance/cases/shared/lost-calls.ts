import { FailureKind } from "../../../gen/index.js";
import type { Check } from "../../check/check.js";
import type { Trial } from "../../check/trial.js";
import { perOperation, type SharedSubject } from "./shared-subject.js";

/** R7: a lost connection decides nothing. */
export function lostCallChecks<T extends Trial>(subject: SharedSubject<T>): Check<T>[] {
  return [
    ...perOperation(
      subject,
      {
        clause: "ALL-LOST-001",
        name: "deadline",
        title: "a passed deadline ends the wait: the repeat joins or replays the one execution.",
        stacks: ["connect-node", "grpc-js"],
      },
      async (t, kind) => {
        const slow = await kind.provoke(t, "slow");
        if (slow.quick === true) t.notApplicable("nothing can make it slow");
        const left = await slow.ask(slow.request, { deadlineMs: 100 });
        if (left.status === undefined) t.judge.inconclusive("the slow operation ended before the deadline");
        const end = await slow.ask(slow.request, { elsewhere: true });
        t.judge.equal("the status of the repeat", end.status, undefined);
        t.judge.equal("its failure", end.failure, undefined);
        const again = await slow.ask();
        t.judge.equal("answer_id of a later repeat", again.answerId, end.answerId);
      },
    ),
    ...perOperation(
      subject,
      {
        clause: "ALL-LOST-002",
        name: "cancel",
        title: "a cancelled call leaves the operation running: the repeat gets its one answer.",
        stacks: ["connect-node", "grpc-js"],
      },
      async (t, kind) => {
        const slow = await kind.provoke(t, "slow");
        if (slow.quick === true) t.notApplicable("nothing can make it slow");
        const leave = new AbortController();
        const left = slow.ask(slow.request, { signal: leave.signal });
        await t.pause(50);
        leave.abort();
        if ((await left).status === undefined)
          t.judge.inconclusive("the slow operation ended before the cancel");
        const end = await slow.ask(slow.request, { elsewhere: true });
        t.judge.equal("the status of the repeat", end.status, undefined);
        t.judge.equal("its failure", end.failure, undefined);
        t.judge.equal("answer_id of a later repeat", (await slow.ask()).answerId, end.answerId);
      },
    ),
    ...perOperation(
      subject,
      {
        clause: "ALL-LOST-003",
        name: "connection",
        title: "a vanished connection leaves the operation running: the repeat gets its one answer.",
      },
      async (t, kind) => {
        const slow = await kind.provoke(t, "slow");
        if (slow.quick === true) t.notApplicable("nothing can make it slow");
        const { end: lost, cut } = slow.askAndCut();
        await t.pause(50);
        cut();
        if ((await lost).status === undefined)
          t.judge.inconclusive("the slow operation ended before the cut");
        const end = await slow.ask(slow.request, { elsewhere: true });
        t.judge.equal("the status of the repeat", end.status, undefined);
        t.judge.equal("its failure", end.failure, undefined);
        t.judge.equal("answer_id of a later repeat", (await slow.ask()).answerId, end.answerId);
      },
    ),
    ...perOperation(
      subject,
      {
        clause: "ALL-LOST-004",
        name: "reset-at-once",
        title: "a request reset as it leaves takes effect at most once, and after the repeat exactly once.",
      },
      async (t, kind) => {
        for (let round = 0; round < 5; round += 1) {
          const asked = await kind.prepare(t);
          const leave = new AbortController();
          const left = asked.ask(asked.request, { signal: leave.signal });
          leave.abort();
          await left;
          const first = await asked.ask();
          const again = await asked.ask(asked.request, { elsewhere: true });
          t.judge.equal("the status of the repeat", first.status, undefined);
          t.judge.equal("answer_id of a later one", again.answerId, first.answerId);
          const next = await (await kind.following(t, asked)).ask();
          t.judge.equal("the status of the next", next.status, undefined);
        }
      },
    ),
    ...perOperation(
      subject,
      {
        clause: "ALL-LOST-005",
        name: "three-connections",
        title: "operations of one session over three connections go as over one.",
        only: (kind) => kind.numbered,
      },
      async (t, kind) => {
        const one = await kind.prepare(t);
        const two = await kind.following(t, one);
        const three = await kind.following(t, two);
        for (const [index, asked] of [one, two, three].entries()) {
          const end = await asked.ask(asked.request, { elsewhere: true });
          t.judge.equal(`the status of number ${index}`, end.status, undefined);
        }
      },
    ),
    ...perOperation(
      subject,
      {
        clause: "ALL-LOST-007",
        name: "timeout",
        title: "a passed timeout is a recorded failure of kind TIMEOUT, told again to a repeat.",
      },
      async (t, kind) => {
        const slow = await kind.provoke(t, "slow");
        if (slow.quick === true) t.notApplicable("nothing can make it slow");
        const request = slow.timed(200);
        const end = await slow.ask(request);
        t.judge.that("the end", end.failure !== undefined, {
          expected: "a recorded failure",
          actual: end.status ?? end.answer,
        });
        t.judge.equal("its kind", end.failure?.kind, FailureKind.TIMEOUT);
        const again = await slow.ask(request, { elsewhere: true });
        t.judge.equal("the repeat's failure", again.failure, end.failure);
      },
    ),
    ...perOperation(
      subject,
      {
        clause: "ALL-LEASE-009",
        name: "effective-timeout",
        title: "an effective timeout is echoed within the declared bounds, whatever was asked.",
      },
      async (t, kind) => {
        const { minimum, maximum } = subject.timeouts(t);
        const plain = await kind.prepare(t);
        const long = await kind.prepare(t);
        const ends = [await plain.ask(), await long.ask(long.timed(10_000 * 3_600_000))];
        t.judge.each("the answers", ends, ({ timeoutMs }) =>
          t.judge.that(
            "the timeout echoed",
            timeoutMs !== undefined &&
              timeoutMs >= (minimum ?? 1) &&
              timeoutMs <= (maximum ?? Number.POSITIVE_INFINITY),
            { expected: `${minimum ?? "some"} to ${maximum ?? "some"} ms`, actual: timeoutMs },
          ),
        );
      },
    ),
  ];
}
