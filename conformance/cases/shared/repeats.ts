import type { Check } from "../../check/check.js";
import type { Trial } from "../../check/trial.js";
import { deliveryTrailer } from "../../subject/metadata.js";
import type { OperationKind } from "./operation-kind.js";
import { perOperation, type SharedSubject } from "./shared-subject.js";

/** R2: join, replay or conflict. */
export function repeatChecks<T extends Trial>(subject: SharedSubject<T>): Check<T>[] {
  return [
    ...perOperation(
      subject,
      {
        clause: "ALL-REPEAT-001",
        name: "joins",
        title: "eight equal requests at once, one of them a little late, are one execution.",
      },
      async (t, kind) => {
        const { judge } = t;
        const slow = await kind.provoke(t, "slow");
        const asks = Array.from({ length: 7 }, () => slow.ask(slow.request, { elsewhere: true }));
        await t.pause(5);
        const ends = await Promise.all([...asks, slow.ask()]);
        const [first] = ends;
        judge.each("the eight answers", ends, ({ status, answerId }) => {
          judge.equal("its status", status, undefined);
          judge.equal("its answer_id", answerId, first?.answerId);
        });
      },
    ),
    ...perOperation(
      subject,
      {
        clause: "ALL-REPEAT-002",
        name: "replays",
        title:
          "an equal request after the end, over another connection, gets the first answer field for field.",
        stacks: ["connect-node", "grpc-js"],
      },
      async (t, kind) => {
        const asked = await kind.prepare(t);
        const first = await asked.ask();
        t.judge.equal("the status of the first", first.status, undefined);
        const again = await asked.ask(asked.request, { elsewhere: true });
        t.judge.equal("the status of the repeat", again.status, undefined);
        t.judge.equal("the repeat's answer", again.answer, first.answer);
      },
    ),
    ...perOperation(
      subject,
      {
        clause: "ALL-REPEAT-003",
        name: "replays-failure",
        title: "a recorded failure is told again, and the work is not tried again.",
      },
      async (t, kind) => {
        const asked = await kind.provoke(t, "crash");
        const first = await asked.ask();
        t.judge.that("the first answer", first.failure !== undefined, {
          expected: "a recorded failure",
          actual: first.status ?? first.answer,
        });
        const again = await asked.ask(asked.request, { elsewhere: true });
        t.judge.equal("code of the repeat", again.status?.code, first.status?.code);
        t.judge.equal("failure of the repeat", again.failure, first.failure);
        t.judge.equal("answer_id of the repeat", again.answerId, first.answerId);
      },
    ),
    ...perOperation(
      subject,
      {
        clause: "ALL-REPEAT-004",
        name: "conflicts",
        title: "the same name with other content is refused OPERATION_CONFLICT.",
        sendsInvalid: true,
        stacks: ["connect-node", "grpc-js"],
      },
      async (t, kind) => {
        const asked = await kind.prepare(t);
        const first = await asked.ask();
        t.judge.equal("the status of the first", first.status, undefined);
        t.judge.refused("the same name with other content", await asked.ask(asked.otherContent()));
      },
    ),
    ...perOperation(
      subject,
      {
        clause: "ALL-REPEAT-005",
        name: "conflict-changes-nothing",
        title: "after a conflict the first answer still replays, and the next operation works.",
        sendsInvalid: true,
      },
      async (t, kind) => {
        const asked = await kind.prepare(t);
        const first = await asked.ask();
        await asked.ask(asked.otherContent());
        const again = await asked.ask();
        t.judge.equal("the first answer after a conflict", again.answer, first.answer);
        const next = await (await kind.following(t, asked)).ask();
        t.judge.equal("the status of the next", next.status, undefined);
      },
    ),
    ...perOperation(
      subject,
      {
        clause: "ALL-REPEAT-006",
        name: "metadata-apart",
        title: "a repeat with another traceparent and another deadline replays.",
      },
      async (t, kind) => {
        const asked = await kind.prepare(t);
        const first = await asked.ask();
        const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        const again = await asked.ask(asked.request, { headers: { traceparent }, deadlineMs: 30_000 });
        t.judge.equal("the status of the repeat", again.status, undefined);
        t.judge.equal("its answer_id", again.answerId, first.answerId);
      },
    ),
    ...perOperation(
      subject,
      {
        clause: "ALL-REPEAT-012",
        name: "answer-ids-differ",
        title: "every answer has an answer_id, unlike those of other executions.",
      },
      async (t, kind) => {
        const first = await kind.prepare(t);
        const ends = [await first.ask(), await (await kind.following(t, first)).ask()];
        const other = await kind.prepare(t);
        ends.push(await other.ask());
        t.judge.each("the answers", ends, ({ answerId }) =>
          t.judge.that("answer_id", answerId !== "", { expected: "to be set", actual: answerId }),
        );
        t.judge.equal(
          "answer_ids that differ",
          new Set(ends.map(({ answerId }) => answerId)).size,
          ends.length,
        );
      },
    ),
    ...perOperation(
      subject,
      {
        clause: "ALL-REPEAT-016",
        name: "timeout-is-content",
        title: "a repeat with another timeout conflicts.",
        sendsInvalid: true,
      },
      async (t, kind) => {
        const asked = await kind.prepare(t);
        const first = await asked.ask(asked.timed(20_000));
        t.judge.equal("the status of the first", first.status, undefined);
        t.judge.refused("the same name with another timeout", await asked.ask(asked.timed(21_000)));
      },
    ),
    ...perOperation(
      subject,
      {
        clause: "ALL-REPEAT-019",
        name: "delivery-trailer",
        title: "trailer touchstone-delivery says started, joined or replayed.",
      },
      async (t, kind) => {
        const { slow, started, joined } = await joinedOnce(t, kind);
        const replayed = await slow.ask();
        const told = [started, joined, replayed].map(({ trailers }) => trailers.get(deliveryTrailer));
        // What is quick has ended before anybody could join it.
        const joins = slow.quick === true ? ["joined", "replayed"] : ["joined"];
        t.judge.equal("the first delivery", told[0], "started");
        t.judge.that("the second delivery", joins.includes(told[1] ?? ""), {
          expected: joins.join(" or "),
          actual: told[1],
        });
        t.judge.equal("the third delivery", told[2], "replayed");
      },
    ),
  ];
}

/** Milliseconds below which a repeat has waited for nothing: what it repeats had ended when it came. */
const noWaitMs = 30;

/**
 * A slow operation, and a repeat that comes while it runs. On a busy machine the repeat may come too late, and is then
 * answered at once: that says nothing of joins, and is tried anew.
 */
async function joinedOnce<T extends Trial>(t: T, kind: OperationKind<T>) {
  for (let tries = 0; tries < 5; tries += 1) {
    const slow = await kind.provoke(t, "slow");
    const starting = slow.ask();
    await t.pause(50);
    const asked = performance.now();
    const joined = await slow.ask(slow.request, { elsewhere: true });
    const waited = performance.now() - asked;
    const started = await starting;
    if (slow.quick === true || waited > noWaitMs) return { slow, started, joined };
  }
  return t.judge.inconclusive("no repeat came while the operation ran");
}
