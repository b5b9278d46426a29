import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { errorDomain, type FieldViolation } from "../../clients/status-details.js";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.js";
import type { ErrorReason } from "../../gen/index.js";
import { fromMs } from "./duration.js";

/** Name of a reason as ErrorInfo carries it: the enum value's without its prefix. */
export type ReasonName = Exclude<keyof typeof ErrorReason, "UNSPECIFIED" | "OPERATION_FAILED">;

/** Each reason belongs to one code (ALL-ERR-002). */
const codes: Record<ReasonName, Code> = {
  INVALID_FIELD: Code.InvalidArgument,
  UNKNOWN_ENUM: Code.InvalidArgument,
  UNKNOWN_TOOL: Code.InvalidArgument,
  VERIFIER_STATE_INVALID: Code.InvalidArgument,
  SESSION_UNKNOWN: Code.NotFound,
  TASK_UNKNOWN: Code.NotFound,
  NAME_UNKNOWN: Code.NotFound,
  OPERATION_CONFLICT: Code.AlreadyExists,
  OUT_OF_ORDER: Code.FailedPrecondition,
  SESSION_BUSY: Code.FailedPrecondition,
  SESSION_CLOSED: Code.FailedPrecondition,
  SESSION_EXPIRED: Code.FailedPrecondition,
  SESSION_FAILED: Code.FailedPrecondition,
  EPISODE_MISMATCH: Code.FailedPrecondition,
  EPISODE_ENDED: Code.FailedPrecondition,
  OUT_OF_TURN: Code.FailedPrecondition,
  WRONG_ENVIRONMENT: Code.FailedPrecondition,
  UNSATISFIED_REQUIREMENT: Code.FailedPrecondition,
  UNENFORCEABLE: Code.FailedPrecondition,
  PREFIX_NOT_EXTENSIBLE: Code.FailedPrecondition,
  SANDBOX_PAUSED: Code.FailedPrecondition,
  PORT_TAKEN: Code.FailedPrecondition,
  PATH_CONFLICT: Code.FailedPrecondition,
  PERMISSION: Code.PermissionDenied,
  CREDENTIALS: Code.Unauthenticated,
  CAPACITY: Code.ResourceExhausted,
  ADMISSION_TIMEOUT: Code.ResourceExhausted,
  RATE_LIMITED: Code.ResourceExhausted,
  MESSAGE_TOO_LARGE: Code.ResourceExhausted,
  CONTENT_TOO_LARGE: Code.ResourceExhausted,
  ANSWER_EXPIRED: Code.OutOfRange,
  DRAINING: Code.Unavailable,
  FEATURE_UNSUPPORTED: Code.Unimplemented,
};

export type { FieldViolation };

/** What a refusal tells beside its message. */
export interface RefusalOptions {
  /** The fields that are at fault, for BadRequest (ALL-REFUSE-002). */
  readonly violations?: readonly FieldViolation[];
  /** Keys that the contract names: expected_index, limit, actual, feature. `field` is added by itself. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** When it may be tried again, in milliseconds; for refusals that time may cure. */
  readonly retryAfterMs?: number;
}

/** Refusals that time cures carry RetryInfo (ALL-ERR-003, R3, R18); this is the advice where nothing better is known. */
const defaultRetryMs: Partial<Record<ReasonName, number>> = {
  CAPACITY: 1000,
  ADMISSION_TIMEOUT: 1000,
  RATE_LIMITED: 1000,
  SESSION_BUSY: 100,
  DRAINING: 1000,
};

/** What a refusal quotes of a request is bounded, so that it can always be delivered with its reason (R4). */
function bounded(violations: readonly FieldViolation[]): readonly FieldViolation[] {
  return violations
    .slice(0, 50)
    .map(({ field, description }) => ({ field: cut(field, 300), description: cut(description, 500) }));
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length)}...`;
}

/**
 * A call that was turned away: nothing happened, nothing is recorded, no index is used, the name is free (R4).
 * Thrown by whatever checks a request; it reaches the caller as a status with ErrorInfo, and never with a Failure.
 */
export class Refusal extends ConnectError {
  readonly reasonName: ReasonName;

  constructor(reason: ReasonName, message: string, options: RefusalOptions = {}) {
    const violations = bounded(options.violations ?? []);
    const field = violations[0]?.field;
    const metadata = { ...(field === undefined ? {} : { field }), ...options.metadata };
    const retryMs = options.retryAfterMs ?? defaultRetryMs[reason];
    super(cut(message, 2000), codes[reason], undefined, [
      { desc: ErrorInfoSchema, value: create(ErrorInfoSchema, { reason, domain: errorDomain, metadata }) },
      ...(violations.length > 0
        ? [
            {
              desc: BadRequestSchema,
              value: create(BadRequestSchema, { fieldViolations: violations.map((v) => ({ ...v })) }),
            },
          ]
        : []),
      ...(retryMs === undefined
        ? []
        : [{ desc: RetryInfoSchema, value: create(RetryInfoSchema, { retryDelay: fromMs(retryMs) }) }]),
    ]);
    this.reasonName = reason;
  }

  /** ConnectError tells its instances by their name, and so would this class without a test of its own. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof ConnectError && "reasonName" in value;
  }
}

/** Refuses a field of the request: `expected` says what would be right. */
export function invalidField(field: string, description: string): Refusal {
  return new Refusal("INVALID_FIELD", `${field}: ${description}`, { violations: [{ field, description }] });
}

/** Refuses a name that the server is not configured with. */
export function unknownName(field: string, name: string, known: readonly string[]): Refusal {
  const description = `"${name}" is not known here; known: ${known.length ? known.join(", ") : "none"}`;
  return new Refusal("NAME_UNKNOWN", `${field}: ${description}`, { violations: [{ field, description }] });
}

/** Refuses a use of a served rpc that needs a feature which is not declared (ALL-ERR-008). */
export function unsupported(feature: string, what: string): Refusal {
  return new Refusal("FEATURE_UNSUPPORTED", `${what} needs feature ${feature}, which is not declared`, {
    metadata: { feature },
  });
}

/** The refusal of whatever is new while a server drains (R18, ALL-DRAIN-002); another replica may take it. */
export function drainingRefusal(): Refusal {
  return new Refusal("DRAINING", "this server takes nothing new; another replica may");
}

/** The refusal of an answer that its caller does not take (R11). */
export function tooLarge({ limit, actual }: { readonly limit: number; readonly actual: number }): Refusal {
  return new Refusal(
    "MESSAGE_TOO_LARGE",
    `the answer has ${actual} bytes and the caller takes ${limit}; declare more in touchstone-max-message`,
    { metadata: { limit: String(limit), actual: String(actual) } },
  );
}
