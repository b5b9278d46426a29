import type { Check } from "../../check/check.js";
import type { Trial } from "../../check/trial.js";
import { perOperation, type SharedSubject } from "./shared-subject.js";
import { padded, withUnknown } from "./unknown-fields.js";

const kib = 1_024;
/** Messages that the suite sends at most, in bytes. */
const mostBytes = 64 * kib * kib;

/** R11: the size of a request; and what a request may hold beside what is known (R13, R2). */
export function sizeChecks<T extends Trial>(subject: SharedSubject<T>): Check<T>[] {
  const limitOf = async (t: T): Promise<number> => {
    const { service } = t.judge.answer("Describe", await subject.describe(t));
    const limit = Number(service?.limits?.maxMessageBytes ?? 0n);
    if (limit > mostBytes) t.notApplicable(`${limit} bytes are more than the suite sends`);
    t.judge.that("limits.max_message_bytes", limit >= 4 * kib * kib, {
      expected: "4 MiB at least",
      actual: limit,
    });
    return limit;
  };
  return [
    ...perOperation(
      subject,
      {
        clause: "ALL-DESC-006",
        name: "just-under",
        title: "a request of 1 KiB under the declared limit is served.",
        only: (kind) => kind.creating,
        stacks: ["connect-node", "grpc-js"],
      },
      async (t, kind) => {
        const size = (await limitOf(t)) - kib;
        const asked = await kind.prepare(t);
        const end = await asked.ask(padded(subject, kind, { request: asked.request, size }));
        t.judge.equal("its status", end.status, undefined);
      },
    ),
    ...perOperation(
      subject,
      {
        clause: "ALL-DESC-007",
        name: "over",
        title: "a request over the limit is refused alone: its connection and its name go on.",
        only: (kind) => kind.creating,
        sendsInvalid: true,
      },
      async (t, kind) => {
        const size = (await limitOf(t)) + kib * kib;
        const asked = await kind.prepare(t);
        const slow = await kind.provoke(t, "slow");
        const beside = slow.ask();
        const { status } = await asked.ask(padded(subject, kind, { request: asked.request, size }));
        t.judge.that("its status", status !== undefined, { expected: "a refusal", actual: "OK" });
        t.judge.equal("the status of a call beside it", (await beside).status, undefined);
        t.judge.answer("Describe on the same connection", await subject.describe(t));
        t.judge.equal("the status of one that fits", (await asked.ask()).status, undefined);
      },
    ),
    ...perOperation(
      subject,
      {
        clause: "ALL-DESC-008",
        name: "code",
        title: "over the limit the code is RESOURCE_EXHAUSTED.",
        only: (kind) => kind.creating,
        sendsInvalid: true,
      },
      async (t, kind) => {
        const size = (await limitOf(t)) + kib * kib;
        const asked = await kind.prepare(t);
        const end = await asked.ask(padded(subject, kind, { request: asked.request, size }));
        t.judge.refused("its end", end);
      },
    ),
    ...perOperation(
      subject,
      {
        clause: "ALL-REFUSE-005",
        name: "unknown-field",
        title: "a field that the server does not know is tolerated.",
      },
      async (t, kind) => {
        const asked = await kind.prepare(t);
        const { request } = asked;
        const end = await asked.ask(withUnknown(subject, kind, { request, bytes: Uint8Array.of(1, 2, 3) }));
        t.judge.equal("the status", end.status, undefined);
        t.judge.equal("the failure", end.failure, undefined);
      },
    ),
    ...perOperation(
      subject,
      {
        clause: "ALL-REPEAT-014",
        name: "unknown-field",
        title: "a repeat with a field that the server does not know replays.",
      },
      async (t, kind) => {
        const asked = await kind.prepare(t);
        const { request } = asked;
        const first = await asked.ask();
        t.judge.equal("the status", first.status, undefined);
        for (const bytes of [Uint8Array.of(1), Uint8Array.of(2, 3)]) {
          const again = await asked.ask(withUnknown(subject, kind, { request, bytes }));
          t.judge.equal("the status of the repeat", again.status, undefined);
          t.judge.equal("its answer_id", again.answerId, first.answerId);
        }
      },
    ),
  ];
}
