import type { EpisodeContext } from "../../../gen/index.js";
import type { Check } from "../../check/check.js";
import type { Trial } from "../../check/trial.js";
import { perOperation, type SharedSubject, sessionsOf } from "./shared-subject.js";

const conflict = { code: ["ALREADY_EXISTS"], reason: ["OPERATION_CONFLICT"] };

/** R2 and R3 between requests that are almost equal, and between operations of several kinds and sessions. */
export function equalityChecks<T extends Trial>(subject: SharedSubject<T>): Check<T>[] {
  const [creating] = subject.operations.filter((kind) => kind.creating);
  const within = subject.operations.filter((kind) => !kind.creating);
  return [
    ...(creating === undefined || subject.sessions === undefined
      ? []
      : [
          subject.check(
            {
              clause: "ALL-REPEAT-007",
              name: "labels",
              title: "a repeat with its labels in another order replays; with another label it conflicts.",
              sendsInvalid: true,
            },
            async (t) => {
              const kind = sessionsOf(subject);
              const labels = { one: "1", two: "2", three: "3" };
              const context = kind.contextOf(t, { labels });
              const { created } = await kind.open(t, { context });
              const first = await created.ask();
              const labelled = (other: Record<string, string>) => ({
                ...created.request,
                context: { ...context, labels: other } satisfies EpisodeContext,
              });
              const turned = Object.fromEntries(Object.entries(labels).reverse());
              const again = await created.ask(labelled(turned), { elsewhere: true });
              t.judge.equal("the status of the repeat", again.status, undefined);
              t.judge.equal("its answer_id", again.answerId, first.answerId);
              const other = await created.ask(labelled({ ...labels, three: "4" }));
              t.judge.refused("another label", other, conflict);
            },
          ),
        ]),
    subject.check(
      {
        clause: "ALL-REPEAT-009",
        name: "one-id-many-kinds",
        title: "the creating call, each numbered operation 0, and Close of one session are no conflict.",
      },
      async (t) => {
        const [first, ...others] = within.filter((kind) => kind.available(t));
        if (first === undefined) return t.notApplicable("sessions of the subject have no operations");
        const asked = await first.prepare(t);
        t.judge.equal(`the status of ${first.rpc}`, (await asked.ask()).status, undefined);
        for (const kind of others) {
          const { status } = await (await kind.besides(t, asked)).ask();
          t.judge.equal(`the status of ${kind.rpc} beside it`, status, undefined);
        }
        t.judge.answer("Close", await asked.close());
      },
    ),
    ...perOperation(
      subject,
      {
        clause: "ALL-REPEAT-013",
        name: "apart",
        title: "while one session is slow, five others are served.",
        only: (kind) => !kind.creating,
      },
      async (t, kind) => {
        const slow = await kind.provoke(t, "slow");
        const others = [];
        for (let index = 0; index < 5; index += 1) others.push(await kind.prepare(t));
        let ended = false;
        const running = slow.ask(slow.request, { elsewhere: true }).finally(() => {
          ended = true;
        });
        await t.pause(20);
        for (const other of others)
          t.judge.equal("the status of another", (await other.ask()).status, undefined);
        t.judge.equal("the slow one had ended before the others", ended, false);
        t.judge.equal("the status of the slow one", (await running).status, undefined);
      },
    ),
    ...within.flatMap((kind) =>
      within
        .filter((other) => other.rpc !== kind.rpc)
        .map((other) =>
          subject.check(
            {
              clause: "ALL-ORDER-008",
              name: `${other.rpc.toLowerCase()}-in-${kind.rpc.toLowerCase()}`,
              title: `a ${other.rpc}, sent while a ${kind.rpc} of its session runs, waits or is turned away.`,
              features: [...kind.features, ...other.features],
            },
            async (t) => {
              const slow = await kind.provoke(t, "slow");
              const beside = await other.besides(t, slow);
              const order: string[] = [];
              const running = slow.ask().finally(() => order.push("slow"));
              await t.pause(50);
              if (order.length > 0) t.judge.inconclusive(`the slow ${kind.rpc} had ended`);
              const second = await beside
                .ask(beside.request, { elsewhere: true })
                .finally(() => order.push("beside"));
              t.judge.equal(`the status of the ${kind.rpc}`, (await running).status, undefined);
              const busy = { code: ["FAILED_PRECONDITION"], reason: ["SESSION_BUSY"] };
              if (second.status !== undefined) t.judge.refused(`the ${other.rpc}`, second, busy);
              else t.judge.equal("the order in which they ended", order, ["slow", "beside"]);
            },
          ),
        ),
    ),
    ...perOperation(
      subject,
      {
        clause: "ALL-LOST-008",
        name: "not-from-the-queue",
        title: "its timeout counts from its start: what waited longer behind another one still ends well.",
        only: (kind) => kind.numbered,
        lane: "waiting",
        within: 30,
      },
      async (t, kind) => {
        const long = await kind.provoke(t, "long");
        const next = await kind.following(t, long);
        let ended = false;
        const running = long.ask().finally(() => {
          ended = true;
        });
        await t.pause(50);
        if (ended) t.judge.inconclusive("the long one had ended");
        const end = await next.ask(next.timed(1_000), { elsewhere: true });
        t.judge.equal("the status of the long one", (await running).status, undefined);
        const reason = end.status?.reason ?? "";
        if (reason === "SESSION_BUSY" || reason === "OUT_OF_ORDER") {
          t.notApplicable("the subject has no queue: it turns the second one away");
        }
        t.judge.equal("the status of the one behind it", end.status, undefined);
        t.judge.equal("its failure", end.failure, undefined);
      },
    ),
  ];
}
