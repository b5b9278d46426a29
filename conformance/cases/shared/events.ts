import type { Check } from "../../check/check.js";
import type { Trial } from "../../check/trial.js";
import type { OperationKind } from "./operation-kind.js";
import type { SharedSubject } from "./shared-subject.js";

/** One event of an operation's stream, whatever service it is of. */
export interface StreamEvent {
  readonly sequence: bigint;
  /** Name of its arm: accepted, heartbeat, result. */
  readonly kind: string;
  /** The event itself. */
  readonly value: unknown;
}

/** Arms that carry no sequence and are not kept. */
const unkept: ReadonlySet<string> = new Set(["heartbeat", "delta", "gap"]);

/** R17: streams of operations. */
export function eventChecks<T extends Trial>(subject: SharedSubject<T>): Check<T>[] {
  return subject.operations
    .filter((kind): kind is StreamedKind<T> => kind.streamed !== undefined)
    .flatMap((kind) => streamChecks(subject, kind));
}

type StreamedKind<T extends Trial> = OperationKind<T> & {
  readonly streamed: NonNullable<OperationKind<T>["streamed"]>;
};

function streamChecks<T extends Trial>(subject: SharedSubject<T>, kind: StreamedKind<T>): Check<T>[] {
  const { rpc, features, streamed } = kind;
  const name = rpc.toLowerCase();
  const check = (
    init: { clause: string; name: string; title: string; lane?: "waiting" | "alone" },
    run: (t: T) => Promise<void>,
  ): Check<T> =>
    subject.check({ ...init, name: `${init.name}-${name}`, title: `${rpc}: ${init.title}`, features }, run);
  const recorded = (events: readonly StreamEvent[]): StreamEvent[] =>
    events.filter((event) => !unkept.has(event.kind));
  return [
    check(
      {
        clause: "ALL-ALIVE-001",
        name: "accepted-first",
        title: "the first event, `accepted`, comes within 1 s, also of slow work.",
      },
      async (t) => {
        const slow = await kind.provoke(t, "slow");
        const feed = streamed.open(t, slow.request);
        const first = await t.within("the first event", 1, feed.next());
        t.judge.that("the first event", first !== undefined && streamed.read(first).kind === "accepted", {
          expected: "accepted",
          actual: first === undefined ? "the end of the stream" : streamed.read(first).kind,
        });
        await feed.finish();
      },
    ),
    check(
      {
        clause: "ALL-EVT-001",
        name: "sequence",
        title: "recorded events carry a sequence from 1, rising by one.",
      },
      async (t) => {
        const asked = await kind.prepare(t);
        const events = recorded(await streamed.all(t, asked.request));
        t.judge.each("the events", events, ({ sequence }, index) =>
          t.judge.equal(`sequence of event ${index}`, sequence, BigInt(index + 1)),
        );
      },
    ),
    check(
      {
        clause: "ALL-EVT-003",
        name: "one-terminal",
        title: "exactly one terminal event ends the stream, after success and after failure.",
      },
      async (t) => {
        for (const asked of [await kind.prepare(t), await kind.provoke(t, "crash")]) {
          const events = await streamed.all(t, asked.request);
          const terminal = events.filter((event) => streamed.terminal.includes(event.kind));
          t.judge.equal("terminal events", terminal.length, 1);
          t.judge.that("the last event", streamed.terminal.includes(events.at(-1)?.kind ?? ""), {
            expected: streamed.terminal.join(" or "),
            actual: events.at(-1)?.kind,
          });
        }
      },
    ),
    check(
      {
        clause: "ALL-EVT-004",
        name: "terminal-is-complete",
        title: "read from the last but one event on, the terminal event is whole.",
      },
      async (t) => {
        const asked = await kind.prepare(t);
        const events = recorded(await streamed.all(t, asked.request));
        const last = events.at(-1);
        const before = (last?.sequence ?? 1n) - 1n;
        const rest = recorded(await streamed.all(t, { ...asked.request, afterSequence: before }));
        t.judge.equal("what came behind the last but one", rest, last === undefined ? [] : [last]);
      },
    ),
    check(
      {
        clause: "ALL-EVT-005",
        name: "resumes",
        title: "after_sequence k gives k + 1 and what follows, for every k, equal to the first reading.",
      },
      async (t) => {
        const asked = await kind.prepare(t);
        const events = recorded(await streamed.all(t, asked.request));
        t.judge.each("the cursors", events, () => undefined);
        for (let k = 0; k < events.length; k += 1) {
          const rest = await streamed.all(t, { ...asked.request, afterSequence: BigInt(k) });
          t.judge.equal(`what came behind event ${k}`, recorded(rest), events.slice(k));
        }
      },
    ),
    check(
      {
        clause: "ALL-REPEAT-015",
        name: "cursor-is-no-content",
        title: "a repeat with another after_sequence is no conflict.",
      },
      async (t) => {
        const asked = await kind.prepare(t);
        await streamed.all(t, asked.request);
        const again = await asked.ask({ ...asked.request, afterSequence: 1n });
        t.judge.equal("the status of the repeat", again.status, undefined);
      },
    ),
    check(
      {
        clause: "ALL-EVT-007",
        name: "absent-reader",
        title: "an operation whose reader reads nothing, or has left, comes to its end.",
      },
      async (t) => {
        const slow = await kind.provoke(t, "slow");
        const unread = streamed.open(t, slow.request);
        await t.pause(50);
        const other = await slow.ask(slow.request, { elsewhere: true });
        t.judge.equal("the status for another reader", other.status, undefined);
        unread.cancel();
      },
    ),
  ];
}
