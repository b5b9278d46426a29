import { Code, ConnectError } from "@connectrpc/connect";
import { FailureKind, Retry, Stage } from "../../gen/index.js";
import { OperationFailedError, OperationFailure, toFailure } from "../../servers/runtime/failure.js";
import {
  around,
  aroundCalls,
  aroundStream,
  type Call,
  currentCall,
  inAnswers,
  inErrors,
  inRequests,
  operationName,
  tellingCalls,
} from "./calls.js";
import { failureOf } from "./errors-told.js";
import type { Build, Mutant } from "./mutant.js";
import { inLedger, together } from "./seams.js";

const cancelled = (): OperationFailedError =>
  new OperationFailedError(
    toFailure(
      new OperationFailure({
        kind: FailureKind.CANCELLED,
        retry: Retry.NEW_ATTEMPT,
        reason: "its caller left",
      }),
      { stage: Stage.STEP },
    ),
    "cancelled",
  );

/** Ends an operation whose caller left while it ran, where `when` says so of the reason. */
const callersKill = (when: (reason: unknown) => boolean): Build => {
  const killed = new Set<string>();
  const watched = (call: Call, name: string): (() => void) => {
    const { signal } = call.context;
    const left = (): void => {
      if (when(signal.reason)) killed.add(name);
    };
    signal.addEventListener("abort", left, { once: true });
    return () => signal.removeEventListener("abort", left);
  };
  return aroundCalls((call, next) => {
    const name = operationName(call);
    const rpc = call.method.localName;
    if (name === undefined || (rpc !== "step" && rpc !== "seed")) return next(call);
    if (killed.has(name)) throw cancelled();
    const ended = watched(call, name);
    return Promise.resolve(next(call))
      .finally(ended)
      .then((answer) => {
        // Also for those who came back before it was known that the first had left.
        if (killed.has(name)) throw cancelled();
        return answer;
      });
  });
};

const isDeadline = (reason: unknown): boolean =>
  reason instanceof ConnectError && reason.code === Code.DeadlineExceeded;

/** Executes again what its caller reset. */
const resetsExecuteAgain: Build = together(
  inLedger((ledger) => ({
    perform(work) {
      const call = currentCall();
      const delivered = ledger.perform(work);
      call?.context.signal.addEventListener("abort", () => ledger.forget(work.scope, work.name));
      return delivered;
    },
  })),
  tellingCalls,
);

const msOf = (duration: { seconds: bigint; nanos: number } | undefined): number | undefined =>
  duration === undefined ? undefined : Number(duration.seconds) * 1_000 + duration.nanos / 1e6;

const timeoutFromArrival: Build = around("step", async ({ request }, next) => {
  const ms = msOf(request.timeout);
  if (ms === undefined) return await next();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(cancelled()), ms);
  });
  return await Promise.race([next(), late]).finally(() => clearTimeout(timer));
});

/** Lets other readers wait until the first has read everything; at last they are turned away. */
const firstReaderFirst = (): Build => {
  const reading = new Map<string, Promise<void>>();
  return aroundStream("verify", async function* (call, next) {
    const name = operationName(call) ?? "";
    const before = reading.get(name);
    let done = (): void => undefined;
    reading.set(name, new Promise((resolve) => (done = resolve)));
    try {
      const patience = new Promise<"late">((resolve) => setTimeout(resolve, 1_500, "late"));
      if (before !== undefined && (await Promise.race([before, patience])) === "late") throw cancelled();
      for await (const message of next()) {
        if (before === undefined && message.event.case === "result")
          await new Promise((resolve) => setTimeout(resolve, 3_000));
        yield message;
      }
    } finally {
      done();
    }
  });
};

/** R7: a lost connection decides nothing; R17: streams of operations. */
export const lostCallMutants: readonly Mutant[] = [
  {
    name: "deadline-kills-it",
    clause: "ALL-LOST-001",
    what: "ends an operation at its caller's deadline",
    build: callersKill(isDeadline),
  },
  {
    name: "cancel-kills-it",
    clause: "ALL-LOST-002",
    what: "ends an operation that its caller cancels",
    build: callersKill((reason) => !isDeadline(reason)),
  },
  {
    name: "disconnect-kills-it",
    clause: "ALL-LOST-003",
    what: "ends an operation whose connection is lost",
    build: callersKill(() => true),
  },
  {
    name: "reset-executes-twice",
    clause: "ALL-LOST-004",
    what: "executes again what its caller reset",
    build: resetsExecuteAgain,
  },
  {
    name: "no-default-timeout",
    clause: "ALL-LEASE-009",
    what: "echoes the timeout that was asked for, whatever holds",
    build: together(
      ...(["seed", "step"] as const).map((rpc) =>
        inAnswers(rpc, (answer, { timeout }) => {
          if (timeout !== undefined) answer.timeout = timeout;
        }),
      ),
    ),
    also: ["ALL-LOST-*"],
    area: ["ALL-LEASE-009.*"],
  },
  {
    name: "timeout-is-deadline",
    clause: "ALL-LOST-007",
    what: "tells a passed timeout as a passed deadline",
    build: inErrors((error) =>
      failureOf(error)?.kind === FailureKind.TIMEOUT
        ? new ConnectError("its time is over", Code.DeadlineExceeded)
        : undefined,
    ),
  },
  {
    name: "queue-in-timeout",
    clause: "ALL-LOST-008",
    what: "counts a timeout from the arrival of the request",
    build: timeoutFromArrival,
  },
  {
    name: "silent-stream",
    clause: "ALL-ALIVE-001",
    what: "says nothing until the work is done",
    build: aroundStream("verify", async function* (_call, next) {
      const messages = [];
      for await (const message of next()) messages.push(message);
      yield* messages.slice(1);
    }),
  },
  {
    name: "no-heartbeat",
    clause: "ALL-ALIVE-002",
    what: "sends no heartbeats",
    build: aroundStream("verify", async function* (_call, next) {
      for await (const message of next()) if (message.event.case !== "heartbeat") yield message;
    }),
  },
  {
    name: "sequence-gap",
    clause: "ALL-EVT-001",
    what: "leaves a number out between its events",
    build: inAnswers("verify", (message) => {
      if (message.event.case === "result") message.sequence += 1n;
    }),
  },
  {
    name: "two-terminals",
    clause: "ALL-EVT-003",
    what: "tells its result twice",
    build: aroundStream("verify", async function* (_call, next) {
      for await (const message of next()) {
        yield message;
        if (message.event.case === "result") yield message;
      }
    }),
  },
  {
    name: "terminal-needs-history",
    clause: "ALL-EVT-004",
    what: "leaves out of its result what a reader may have seen before",
    build: inAnswers("verify", ({ event }, { afterSequence }) => {
      if (afterSequence > 0n && event.case === "result") event.value.outcome = { case: undefined };
    }),
  },
  {
    name: "cursor-off-by-one",
    clause: "ALL-EVT-005",
    what: "resumes at the event that was seen",
    build: inRequests("verify", (request) => {
      if (request.afterSequence > 0n) request.afterSequence -= 1n;
    }),
  },
  {
    name: "slow-reader-stalls",
    clause: "ALL-EVT-007",
    what: "lets others wait for a reader that does not read",
    build: firstReaderFirst(),
  },
];
