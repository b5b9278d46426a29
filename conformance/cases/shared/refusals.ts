import type { Check } from "../../check/check.js";
import type { Trial } from "../../check/trial.js";
import type { OperationKind } from "./operation-kind.js";
import { perOperation, type SharedSubject } from "./shared-subject.js";

const badInput = { code: ["INVALID_ARGUMENT"], reason: [] };
/** Codes that speak of a refusal: a begun operation never ends with one. */
const refusalCodes: ReadonlySet<string> = new Set([
  "INVALID_ARGUMENT",
  "NOT_FOUND",
  "ALREADY_EXISTS",
  "FAILED_PRECONDITION",
  "PERMISSION_DENIED",
  "UNAUTHENTICATED",
  "RESOURCE_EXHAUSTED",
  "OUT_OF_RANGE",
  "UNAVAILABLE",
  "UNIMPLEMENTED",
]);

/** R4: a status speaks of the call, a Failure of the operation. */
export function refusalChecks<T extends Trial>(subject: SharedSubject<T>): Check<T>[] {
  const asStatus = ({ failureInAnswer }: OperationKind<T>): boolean => !failureInAnswer;
  const inAnswer = ({ failureInAnswer }: OperationKind<T>): boolean => failureInAnswer;
  return [
    ...perOperation(
      subject,
      {
        clause: "ALL-REFUSE-001",
        name: "changes-nothing",
        title: "after bad input a good operation goes as in a clean run.",
        sendsInvalid: true,
      },
      async (t, kind) => {
        const clean = await (await kind.prepare(t)).ask();
        t.judge.equal("the status of a clean one", clean.status, undefined);
        const bad = await kind.provoke(t, "invalid");
        t.judge.refused("bad input", await bad.ask(), badInput);
        const good = await (await kind.instead(t, bad)).ask();
        t.judge.equal("what the good one did", kind.outcome(good), kind.outcome(clean));
      },
    ),
    ...perOperation(
      subject,
      {
        clause: "ALL-REFUSE-002",
        name: "names-field",
        title: "bad input is refused naming the field.",
        sendsInvalid: true,
      },
      async (t, kind) => {
        const bad = await kind.provoke(t, "invalid");
        const status = t.judge.refused("bad input", await bad.ask(), badInput);
        t.judge.that("BadRequest", status.fields.length > 0 && status.fields.every((field) => field !== ""), {
          expected: "a violation that names a field",
          actual: status.fields,
        });
        const wanted = kind.badPath(t);
        if (wanted !== "") t.judge.names("BadRequest", status, wanted);
      },
    ),
    ...perOperation(
      subject,
      {
        clause: "ALL-REPEAT-008",
        name: "refusal-not-recorded",
        title: "the name of a refused operation is free for corrected content.",
        sendsInvalid: true,
      },
      async (t, kind) => {
        const bad = await kind.provoke(t, "invalid");
        t.judge.refused("bad input", await bad.ask(), badInput);
        t.judge.refused("bad input again", await bad.ask(), badInput);
        const good = await kind.instead(t, bad);
        t.judge.equal("the status of corrected content", (await good.ask()).status, undefined);
      },
    ),
    ...perOperation(
      subject,
      {
        clause: "ALL-REFUSE-008",
        name: "begun-is-no-refusal",
        title: "one that began and broke does not end with a refusal's code.",
      },
      async (t, kind) => {
        const end = await (await kind.provoke(t, "crash")).ask();
        t.judge.that("how it ended", end.status === undefined || !refusalCodes.has(end.status.code), {
          expected: "ABORTED, INTERNAL or a Failure in the answer",
          actual: end.status?.code,
        });
        t.judge.that("its Failure", end.failure !== undefined, { expected: "to be there", actual: "none" });
      },
    ),
    ...perOperation(
      subject,
      {
        clause: "ALL-FAIL-004",
        name: "crash",
        title: "an uncaught error is INTERNAL/OPERATION_FAILED, or a Failure where the answer has one.",
      },
      async (t, kind) => {
        const end = await (await kind.provoke(t, "crash")).ask();
        if (kind.failureInAnswer) {
          t.judge.equal("the status", end.status, undefined);
          t.judge.that("the answer", end.failure !== undefined, {
            expected: "a Failure",
            actual: end.answer,
          });
        } else {
          t.judge.failed("the status", end);
        }
      },
    ),
    ...perOperation(
      subject,
      {
        clause: "ALL-FAIL-005",
        name: "crash-apart",
        title: "an uncaught error in one session touches no other.",
      },
      async (t, kind) => {
        const other = await kind.prepare(t);
        const crash = await kind.provoke(t, "crash");
        t.judge.survives("the crash", await crash.ask());
        const end = await other.ask();
        t.judge.survives("another session's call", end);
        t.judge.equal("its status", end.status, undefined);
      },
    ),
    ...perOperation(
      subject,
      {
        clause: "ALL-FAIL-003",
        name: "crash-text",
        title: "the text of an uncaught error, its stack and paths of the host are in no answer.",
      },
      async (t, kind) => {
        const asked = await kind.provoke(t, "crash");
        const ends = [await asked.ask(), await asked.ask()];
        const text = JSON.stringify(
          ends.map(({ answer, status }) => ({ answer, status })),
          (_key, value: unknown) => (typeof value === "bigint" ? String(value) : value),
        );
        const secret = kind.crashText(t);
        t.judge.that("the answers", !text.includes(secret), {
          expected: `not to hold ${JSON.stringify(secret)}`,
          actual: text,
        });
        t.judge.that("the answers", !/\bat .+:\d+:\d+|\/node_modules\/|Traceback|goroutine \d/.test(text), {
          expected: "to hold no stack trace",
          actual: text,
        });
      },
    ),
    ...perOperation(
      subject,
      {
        clause: "ALL-FAIL-009",
        name: "aborted-or-internal",
        title: "a failure status is ABORTED where another attempt may help, else INTERNAL.",
        only: asStatus,
      },
      async (t, kind) => {
        const again = await (await kind.provoke(t, "new_attempt")).ask();
        t.judge.failed("a failure with NEW_ATTEMPT", again);
        t.judge.equal("its code", again.status?.code, "ABORTED");
        const never = await (await kind.provoke(t, "never")).ask();
        t.judge.failed("a failure with NEVER", never);
        t.judge.equal("its code", never.status?.code, "INTERNAL");
      },
    ),
    ...perOperation(
      subject,
      {
        clause: "ALL-FAIL-013",
        name: "failure-in-details",
        title: "a recorded failure is OPERATION_FAILED, with the Failure in the details.",
        only: asStatus,
      },
      async (t, kind) => {
        const failure = t.judge.failed("the failure", await (await kind.provoke(t, "never")).ask());
        t.judge.that("its reason", failure.reason !== "", {
          expected: "a sentence for people",
          actual: "nothing",
        });
      },
    ),
    ...perOperation(
      subject,
      {
        clause: "ALL-FAIL-010",
        name: "details-bounded",
        title: "the details of a failed operation are 4 KiB at most.",
        only: asStatus,
      },
      async (t, kind) => {
        for (const what of ["never", "crash"] as const) {
          const { status } = await (await kind.provoke(t, what)).ask();
          t.judge.that("bytes of the details", (status?.detailBytes ?? 0) <= 4_096, {
            expected: "4,096 at most",
            actual: status?.detailBytes,
          });
        }
      },
    ),
    ...perOperation(
      subject,
      {
        clause: "ALL-FAIL-011",
        name: "failure-in-answer",
        title: "a recorded failure is in the answer, the status being OK.",
        only: inAnswer,
      },
      async (t, kind) => {
        const end = await (await kind.provoke(t, "never")).ask();
        t.judge.equal("the status", end.status, undefined);
        t.judge.that("the answer", end.failure !== undefined, { expected: "a Failure", actual: end.answer });
      },
    ),
  ];
}
