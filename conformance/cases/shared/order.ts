import type { Check } from "../../check/check.js";
import type { Trial } from "../../check/trial.js";
import type { OperationKind } from "./operation-kind.js";
import { perOperation, type SharedSubject } from "./shared-subject.js";

/** R3: numbered, one at a time, without gaps. */
export function orderChecks<T extends Trial>(subject: SharedSubject<T>): Check<T>[] {
  const numbered = ({ numbered: is }: OperationKind<T>): boolean => is;
  return [
    ...perOperation(
      subject,
      {
        clause: "ALL-ORDER-001",
        name: "from-zero",
        title: "the first is number 0, the next 1, whatever other operations came before.",
        only: numbered,
      },
      async (t, kind) => {
        const first = await kind.prepare(t);
        for (const other of subject.operations.filter((one) => one.numbered && one.rpc !== kind.rpc)) {
          if (!other.available(t)) continue;
          const beside = await other.besides(t, first);
          t.judge.equal(`the status of ${other.rpc} 0`, (await beside.ask()).status, undefined);
        }
        t.judge.equal(`the status of ${kind.rpc} 0`, (await first.ask()).status, undefined);
        const second = await kind.following(t, first);
        t.judge.equal(`the status of ${kind.rpc} 1`, (await second.ask()).status, undefined);
      },
    ),
    ...perOperation(
      subject,
      {
        clause: "ALL-ORDER-002",
        name: "no-gap",
        title: "number 1 first is refused OUT_OF_ORDER and does nothing: 0 and 1 then go as in a clean run.",
        only: numbered,
        sendsInvalid: true,
        stacks: ["connect-node", "grpc-js"],
      },
      async (t, kind) => {
        const clean = await kind.prepare(t);
        const wanted = [await clean.ask(), await (await kind.following(t, clean)).ask()];
        const first = await kind.prepare(t);
        const second = await kind.following(t, first);
        t.judge.refused(`${kind.rpc} 1 before 0`, await second.ask());
        const came = [await first.ask(), await second.ask()];
        t.judge.equal("what 0 and 1 then did", came.map(kind.outcome), wanted.map(kind.outcome));
      },
    ),
    ...perOperation(
      subject,
      {
        clause: "ALL-ORDER-007",
        name: "expected-index",
        title: "OUT_OF_ORDER tells the expected index.",
        only: numbered,
        sendsInvalid: true,
      },
      async (t, kind) => {
        const first = await kind.prepare(t);
        const second = await kind.following(t, first);
        const { status } = await second.ask();
        t.judge.equal("metadata expected_index", status?.metadata["expected_index"], "0");
        await first.ask();
        const third = await kind.following(t, second);
        const later = await third.ask();
        t.judge.equal("metadata expected_index later", later.status?.metadata["expected_index"], "1");
      },
    ),
    ...perOperation(
      subject,
      {
        clause: "ALL-ORDER-003",
        name: "one-at-a-time",
        title: "the next one, sent while one runs, waits or is turned away; it never overtakes.",
        only: numbered,
      },
      async (t, kind) => {
        const slow = await kind.provoke(t, "slow");
        const next = await kind.following(t, slow);
        const order: string[] = [];
        const running = slow.ask().finally(() => order.push("first"));
        await t.pause(20);
        const second = await next.ask(next.request, { elsewhere: true }).finally(() => order.push("second"));
        const first = await running;
        t.judge.equal("the status of the first", first.status, undefined);
        if (second.status !== undefined) t.judge.refused("the next one", second);
        else t.judge.equal("the order in which they ended", order, ["first", "second"]);
      },
    ),
    ...perOperation(
      subject,
      {
        clause: "ALL-ORDER-006",
        name: "failure-uses-number",
        title: "a failed one uses up its number: other content at it is a conflict.",
        only: numbered,
        sendsInvalid: true,
      },
      async (t, kind) => {
        const failed = await kind.provoke(t, "next_index");
        const end = await failed.ask();
        t.judge.that("the first", end.failure !== undefined, {
          expected: "a recorded failure",
          actual: end.status ?? end.answer,
        });
        const conflict = { code: ["ALREADY_EXISTS"], reason: ["OPERATION_CONFLICT"] };
        t.judge.refused("other content at its number", await failed.ask(failed.otherContent()), conflict);
      },
    ),
    ...perOperation(
      subject,
      {
        clause: "ALL-ORDER-005",
        name: "next-index-goes-on",
        title: "after a failure with retry NEXT_INDEX the next one works.",
        only: numbered,
      },
      async (t, kind) => {
        const failed = await kind.provoke(t, "next_index");
        t.judge.that("the first", (await failed.ask()).failure !== undefined, {
          expected: "a recorded failure",
          actual: "none",
        });
        const next = await (await kind.following(t, failed)).ask();
        t.judge.equal("the status of the next", next.status, undefined);
        t.judge.equal("the failure of the next", next.failure, undefined);
      },
    ),
    ...perOperation(
      subject,
      {
        clause: "ALL-ORDER-010",
        name: "refusal-uses-no-number",
        title: "a refused one uses up no number: a good one takes it.",
        only: numbered,
        sendsInvalid: true,
      },
      async (t, kind) => {
        const bad = await kind.provoke(t, "invalid");
        const refusal = { code: ["INVALID_ARGUMENT"], reason: [] };
        t.judge.refused("the bad one", await bad.ask(), refusal);
        const good = await kind.instead(t, bad);
        t.judge.equal("the status of a good one at its number", (await good.ask()).status, undefined);
      },
    ),
    ...perOperation(
      subject,
      {
        clause: "ALL-ORDER-004",
        name: "failed-session",
        title: "after a failure without NEXT_INDEX the next one is refused SESSION_FAILED, and Close works.",
        only: (kind) => kind.numbered && !kind.failureInAnswer,
        sendsInvalid: true,
      },
      async (t, kind) => {
        const failed = await kind.provoke(t, "never");
        t.judge.failed("the first", await failed.ask());
        t.judge.refused("the next", await (await kind.following(t, failed)).ask());
        t.judge.answer("Close", await failed.close());
      },
    ),
    ...perOperation(
      subject,
      {
        clause: "ALL-ORDER-009",
        name: "failed-session-replays",
        title: "a failed session still replays what it recorded.",
        only: (kind) => kind.numbered && !kind.failureInAnswer,
      },
      async (t, kind) => {
        const failed = await kind.provoke(t, "never");
        const first = await failed.ask();
        t.judge.failed("the first", first);
        await (await kind.following(t, failed)).ask();
        const again = await failed.ask(failed.request, { elsewhere: true });
        t.judge.equal("the failure of the repeat", again.failure, first.failure);
        t.judge.equal("its code", again.status?.code, first.status?.code);
      },
    ),
  ];
}
