import type { Check } from "../../check/check.js";
import type { Trial } from "../../check/trial.js";
import { type SharedSubject, sessionsOf } from "./shared-subject.js";

/** Not of the id grammar: other characters, a first one that may not be first, one too many. */
const badIds = ["../x", "a/b", "-x", ".x", "a b", "é", "x".repeat(129)];

/** R1: callers name things. */
export function idChecks<T extends Trial>(subject: SharedSubject<T>): Check<T>[] {
  const { check } = subject;
  const kind = sessionsOf(subject);
  const padded = (t: T): string => t.id("long").padEnd(128, "x");
  return [
    check(
      {
        clause: "ALL-ID-001",
        name: "used-unchanged",
        title: "what is created under an id is there under exactly that id, on another connection.",
      },
      async (t) => {
        const session = await kind.open(t);
        t.judge.answer("a call under the id", await session.keepAlive({ elsewhere: true }));
      },
    ),
    check(
      {
        clause: "ALL-ID-002",
        name: "empty",
        title: "an empty id is refused by name.",
        sendsInvalid: true,
      },
      async (t) => {
        const status = t.judge.refused("an empty id", await kind.unopened(t, "").created.ask());
        t.judge.names("BadRequest", status, kind.idField);
        await kind.open(t);
      },
    ),
    check(
      {
        clause: "ALL-ID-003",
        name: "outside-grammar",
        title: "ids outside the grammar are refused; one of 128 legal characters is not.",
        sendsInvalid: true,
      },
      async (t) => {
        for (const id of badIds) {
          const shown = id.length > 20 ? `${id.length} characters` : id;
          t.judge.refused(`the id ${shown}`, await kind.unopened(t, id).created.ask());
        }
        await kind.open(t, { sessionId: padded(t) });
      },
    ),
    check(
      {
        clause: "ALL-ID-004",
        name: "inside-grammar",
        title: "a short id, one of 128 characters and one with dots and dashes are used as they are.",
      },
      async (t) => {
        for (const id of [t.id("x"), padded(t), `${t.id("a")}.b_c-D`]) {
          const session = await kind.open(t, { sessionId: id });
          t.judge.answer(`a call under ${id.slice(0, 40)}`, await session.keepAlive());
        }
      },
    ),
    check(
      {
        clause: "ALL-ID-006",
        name: "attempt-suffix",
        title:
          "a rollout_id that ends in -a and digits is refused; -a alone and a1 without its dash are not.",
        sendsInvalid: true,
      },
      async (t) => {
        const rollout = t.id("r");
        const bad = kind.unopened(t, t.id("session"), { rolloutId: `${rollout}-a1` });
        t.judge.refused("a rollout_id with an attempt's suffix", await bad.created.ask());
        for (const rolloutId of [`${rollout}-a`, `${rollout}a1`]) {
          const good = kind.unopened(t, t.id("session"), { rolloutId });
          t.judge.equal(`the status of ${rolloutId}`, (await good.created.ask()).status, undefined);
        }
      },
    ),
    check(
      {
        clause: "ALL-ID-010",
        name: "rollout-id-length",
        title: "a rollout_id of 97 characters is refused, one of 96 is not.",
        sendsInvalid: true,
      },
      async (t) => {
        const long = t.id("r").padEnd(97, "x");
        const bad = kind.unopened(t, t.id("session"), { rolloutId: long });
        t.judge.refused("97 characters", await bad.created.ask());
        const good = kind.unopened(t, t.id("session"), { rolloutId: long.slice(0, 96) });
        t.judge.equal("the status of 96 characters", (await good.created.ask()).status, undefined);
      },
    ),
    check(
      {
        clause: "ALL-ID-008",
        name: "context-echoed",
        title: "the context, with group and labels, comes back in every record.",
      },
      async (t) => {
        const context = kind.contextOf(t, {
          groupId: t.id("group"),
          groupIndex: 3,
          labels: { "a.b": "c d", ü: "ß" },
        });
        const session = await kind.open(t, { context });
        t.judge.equal("the context of the creating answer", session.echoed, context);
        const { receipt } = t.judge.answer("Close", await session.close());
        t.judge.equal("the context of the receipt", receipt?.context, context);
      },
    ),
    check(
      {
        clause: "ALL-ID-009",
        name: "group-is-no-identity",
        title: "two sessions of one group and one place in it are two sessions.",
      },
      async (t) => {
        const group = { groupId: t.id("group"), groupIndex: 0 };
        const one = await kind.open(t, { context: kind.contextOf(t, group) });
        const two = await kind.open(t, { context: kind.contextOf(t, group) });
        t.judge.answer("Close of one", await one.close());
        t.judge.answer("a call of the other", await two.keepAlive());
      },
    ),
  ];
}
