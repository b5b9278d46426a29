import { ErrorReason, type Failure, FailureKind, Retry, Stage } from "../../../gen/index.js";
import { readCatalogue } from "../../catalogue/catalogue.js";
import type { Profile } from "../../catalogue/profile.js";
import { type Watch, watch } from "../../check/watch.js";
import { instanceHeader } from "../../subject/metadata.js";
import type { Seen } from "../../subject/seen.js";

/** Code of each reason, as the contract's table pairs them. */
export const codeOfReason: Readonly<Record<string, readonly string[]>> = {
  INVALID_FIELD: ["INVALID_ARGUMENT"],
  UNKNOWN_TOOL: ["INVALID_ARGUMENT"],
  VERIFIER_STATE_INVALID: ["INVALID_ARGUMENT"],
  UNKNOWN_ENUM: ["INVALID_ARGUMENT"],
  SESSION_UNKNOWN: ["NOT_FOUND"],
  TASK_UNKNOWN: ["NOT_FOUND"],
  NAME_UNKNOWN: ["NOT_FOUND"],
  OPERATION_CONFLICT: ["ALREADY_EXISTS"],
  OUT_OF_ORDER: ["FAILED_PRECONDITION"],
  SESSION_BUSY: ["FAILED_PRECONDITION"],
  SESSION_CLOSED: ["FAILED_PRECONDITION"],
  SESSION_EXPIRED: ["FAILED_PRECONDITION"],
  SESSION_FAILED: ["FAILED_PRECONDITION"],
  EPISODE_MISMATCH: ["FAILED_PRECONDITION"],
  EPISODE_ENDED: ["FAILED_PRECONDITION"],
  OUT_OF_TURN: ["FAILED_PRECONDITION"],
  WRONG_ENVIRONMENT: ["FAILED_PRECONDITION"],
  UNSATISFIED_REQUIREMENT: ["FAILED_PRECONDITION"],
  UNENFORCEABLE: ["FAILED_PRECONDITION"],
  PREFIX_NOT_EXTENSIBLE: ["FAILED_PRECONDITION"],
  SANDBOX_PAUSED: ["FAILED_PRECONDITION"],
  PORT_TAKEN: ["FAILED_PRECONDITION"],
  PATH_CONFLICT: ["FAILED_PRECONDITION"],
  PERMISSION: ["PERMISSION_DENIED"],
  CREDENTIALS: ["UNAUTHENTICATED"],
  CAPACITY: ["RESOURCE_EXHAUSTED"],
  ADMISSION_TIMEOUT: ["RESOURCE_EXHAUSTED"],
  RATE_LIMITED: ["RESOURCE_EXHAUSTED"],
  MESSAGE_TOO_LARGE: ["RESOURCE_EXHAUSTED"],
  CONTENT_TOO_LARGE: ["RESOURCE_EXHAUSTED"],
  ANSWER_EXPIRED: ["OUT_OF_RANGE"],
  DRAINING: ["UNAVAILABLE"],
  FEATURE_UNSUPPORTED: ["UNIMPLEMENTED"],
  OPERATION_FAILED: ["ABORTED", "INTERNAL"],
};

/** Codes that a library gives by itself, with no word of the service. */
const libraryCodes: ReadonlySet<string> = new Set([
  "CANCELLED",
  "DEADLINE_EXCEEDED",
  "UNIMPLEMENTED",
  "UNAVAILABLE",
  "RESOURCE_EXHAUSTED",
]);

/** Every failure in what was seen: of a status, or anywhere in an answer. */
export function failuresIn(seen: Seen): Failure[] {
  if (seen.kind === "end") return seen.status?.failure === undefined ? [] : [seen.status.failure];
  return seen.kind === "answer" ? search(seen.message) : [];
}

function search(value: unknown): Failure[] {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return [];
  const own = "$typeName" in value && value.$typeName === "touchstone.v1.Failure" ? [value as Failure] : [];
  return [...own, ...Object.values(value).flatMap(search)];
}

/** R4 and R9, on every status and every failure that a run brings to light; those that bind the profile. */
export function errorWatches(profile: Profile): readonly Watch[] {
  const { entries } = readCatalogue();
  return all.filter(({ clause }) => entries.get(clause)?.profiles.includes(profile) ?? true);
}

const all = [
  watch(
    {
      clause: "ALL-ERR-001",
      name: "every-error",
      title: "Every error of the service has ErrorInfo, domain touchstone, a reason of the enum.",
    },
    (seen, judge) => {
      if (seen.kind !== "end" || seen.status === undefined) return;
      const { status } = seen;
      if (status.domain === "" && libraryCodes.has(status.code)) return;
      judge.equal("ErrorInfo.domain", status.domain, "touchstone");
      judge.that("ErrorInfo.reason", status.reason in ErrorReason, {
        expected: "a value of ErrorReason",
        actual: status.reason,
      });
    },
  ),
  watch(
    {
      clause: "ALL-ERR-002",
      name: "every-pair",
      title: "Code and reason of every error pair as the contract's table says.",
    },
    (seen, judge) => {
      if (seen.kind !== "end" || seen.status?.domain !== "touchstone") return;
      const { code, reason } = seen.status;
      const codes = codeOfReason[reason] ?? [];
      judge.that(`the code of ${reason}`, codes.includes(code), {
        expected: codes.join(" or "),
        actual: code,
      });
    },
  ),
  watch(
    {
      clause: "ALL-REFUSE-006",
      name: "every-refusal",
      title: "No refusal carries a Failure.",
    },
    (seen, judge) => {
      if (seen.kind !== "end" || seen.status?.domain !== "touchstone") return;
      if (seen.status.reason === "OPERATION_FAILED") return;
      judge.equal(`the Failure of a ${seen.status.reason}`, seen.status.failure, undefined);
    },
  ),
  watch(
    {
      clause: "ALL-FAIL-001",
      name: "every-failure",
      title: "Every Failure has a kind; custom_kind is vendor:name, and set exactly with CUSTOM.",
    },
    (seen, judge) => {
      for (const { kind, customKind } of failuresIn(seen)) {
        judge.differ("Failure.kind", kind, FailureKind.UNSPECIFIED);
        judge.that("Failure.custom_kind", (kind === FailureKind.CUSTOM) === /^[^:]+:.+$/.test(customKind), {
          expected: "vendor:name with CUSTOM, else empty",
          actual: `${FailureKind[kind] ?? kind} and ${JSON.stringify(customKind)}`,
        });
      }
    },
  ),
  watch(
    {
      clause: "ALL-FAIL-012",
      name: "every-failure",
      title: "Every Failure says NEVER, NEXT_INDEX or NEW_ATTEMPT.",
    },
    (seen, judge) => {
      for (const { retry } of failuresIn(seen)) {
        const known = retry !== Retry.UNSPECIFIED && Retry[retry] !== undefined;
        judge.that("Failure.retry", known, { expected: "NEVER, NEXT_INDEX or NEW_ATTEMPT", actual: retry });
      }
    },
  ),
  watch(
    {
      clause: "ALL-FAIL-014",
      name: "every-failure",
      title: "Every Failure names its stage.",
    },
    (seen, judge) => {
      for (const { stage } of failuresIn(seen)) judge.differ("Failure.stage", stage, Stage.UNSPECIFIED);
    },
  ),
  watch(
    {
      clause: "ALL-SCOPE-001",
      name: "every-call",
      title: "Every call answers header touchstone-instance, refusals too.",
    },
    (seen, judge) => {
      if (seen.kind !== "end") return;
      const { status, metadata, method } = seen;
      // Health and reflection are the library's own.
      if (!method.parent.typeName.startsWith("touchstone.v1.")) return;
      // A status of a library, or a call that its own caller ended, has no word of the service.
      if (status !== undefined && status.domain === "") return;
      judge.that(`header ${instanceHeader} of ${seen.method.name}`, metadata.has(instanceHeader), {
        expected: "the instance_id of Describe",
        actual: "no such header",
      });
    },
  ),
];
