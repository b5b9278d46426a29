import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { errorDomain } from "../../clients/status-details.js";
import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.js";
import { type Failure, FailureKind, FailureSchema, Retry, Stage } from "../../gen/index.js";

/** What an author says of a failure; the runtime adds the rest. */
export type FailureInit = Omit<MessageInitShape<typeof FailureSchema>, "$typeName">;

/**
 * An operation that started and failed, thrown by an author's function. Its words reach the caller: no exception
 * text, secret or privileged datum may stand in them (R9). Anything else thrown becomes a Failure without words.
 *
 * @example throw new OperationFailure({ kind: FailureKind.JUDGE_RATE_LIMITED, retry: Retry.NEXT_INDEX, reason: "..." })
 */
export class OperationFailure extends Error {
  readonly failure: Failure;

  constructor(failure: FailureInit, options?: ErrorOptions) {
    super(failure.reason ?? "the operation failed", options);
    this.name = "OperationFailure";
    this.failure = create(FailureSchema, failure);
  }
}

/** Where an operation stands in an episode, for failures that do not say it themselves. */
export interface FailureContext {
  readonly stage: Stage;
  readonly agentId?: string;
}

/** Bounds of a Failure's texts, in bytes; those of the contract. */
const reasonBytes = 2000;
const detailsBytes = 16_384;
const agentIdBytes = 128;
/** Failure details of a status stay within 4 KiB (ALL-FAIL-010). */
const statusBytes = 4096;

/** Cuts text to at most `bytes` bytes of UTF-8, at a character; lone surrogates become U+FFFD. */
export function cutText(text: string, bytes: number): string {
  const encoded = Buffer.from(text, "utf8");
  if (encoded.length <= bytes) return encoded.toString("utf8");
  let end = bytes;
  while (end > 0 && ((encoded[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return encoded.subarray(0, end).toString("utf8");
}

/**
 * The Failure of whatever an operation threw. Uncaught errors give their kind only: exception text, stack traces and
 * host paths appear in no answer (ALL-FAIL-003, ALL-FAIL-004). It takes anything, malformed failures too, and never
 * throws: what nobody can read is an unexpected error.
 */
export function toFailure(error: unknown, context: FailureContext): Failure {
  const failure = toldFailure(error) ?? unforeseen();
  if (failure.stage === Stage.UNSPECIFIED) failure.stage = context.stage;
  if (failure.agentId === "" && context.agentId !== undefined) failure.agentId = context.agentId;
  return failure;
}

function unforeseen(): Failure {
  return create(FailureSchema, {
    kind: FailureKind.INTERNAL,
    retry: Retry.NEVER,
    reason: "an unexpected error; the server's log has it",
  });
}

/** What an OperationFailure says, as far as it can be sent; undefined where it cannot. */
function toldFailure(error: unknown): Failure | undefined {
  try {
    if (!(error instanceof OperationFailure)) return undefined;
    return bounded(fromBinary(FailureSchema, toBinary(FailureSchema, error.failure)));
  } catch {
    return undefined;
  }
}

const vendorKind = /^[a-z0-9][a-z0-9_.-]{0,39}:[a-z0-9][a-z0-9_.-]{0,59}$/;
/** Control characters that have no place in a text; line ends and tabs have, and are escaped where they are printed. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const control = /[\u0000-\u0008\u000b-\u001f\u007f]+/g;

/** The failure with every field as the contract wants it. A kind that is not known here is kept (ALL-FAIL-006). */
function bounded(failure: Failure): Failure {
  if (failure.kind === FailureKind.CUSTOM && !vendorKind.test(failure.customKind))
    failure.kind = FailureKind.INTERNAL;
  if (failure.kind !== FailureKind.CUSTOM) failure.customKind = "";
  if (failure.kind === FailureKind.UNSPECIFIED) failure.kind = FailureKind.INTERNAL;
  // ALL-FAIL-012
  if (Retry[failure.retry] === undefined || failure.retry === Retry.UNSPECIFIED) failure.retry = Retry.NEVER;
  failure.agentId = cutText(failure.agentId, agentIdBytes);
  failure.reason = cutText(failure.reason.replace(control, " "), reasonBytes);
  if (Buffer.byteLength(failure.detailsJson) > detailsBytes) failure.detailsJson = "";
  failure.causes.length = Math.min(failure.causes.length, 8);
  return failure;
}

/** An operation's recorded failure as the status that carries it: Seed, Open, Step and other unary answers (R4). */
export class OperationFailedError extends ConnectError {
  readonly failure: Failure;
  readonly answerId: string;

  constructor(failure: Failure, answerId: string) {
    super(failure.reason, failure.retry === Retry.NEVER ? Code.Internal : Code.Aborted, undefined, [
      {
        desc: ErrorInfoSchema,
        value: create(ErrorInfoSchema, {
          reason: "OPERATION_FAILED",
          domain: errorDomain,
          metadata: { answer_id: answerId },
        }),
      },
      { desc: FailureSchema, value: withinStatus(failure) },
    ]);
    this.failure = failure;
    this.answerId = answerId;
  }

  /** ConnectError tells its instances by their name, and so would this class without a test of its own. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof ConnectError && "failure" in value && "answerId" in value;
  }
}

/** A copy of the failure that fits a status: causes are cut first, then details, then the reason (ALL-FAIL-010). */
function withinStatus(failure: Failure): Failure {
  const copy = create(FailureSchema, { ...failure, causes: [...failure.causes] });
  const size = () => toBinary(FailureSchema, copy).length;
  while (copy.causes.length > 0 && size() > statusBytes) copy.causes.pop();
  if (size() > statusBytes) copy.detailsJson = "";
  if (size() > statusBytes) copy.reason = cutText(copy.reason, 1000);
  return copy;
}

/** The Failure of an operation whose own `timeout` has passed (ALL-LOST-007). */
export function timeoutFailure(what: string, ms: number): OperationFailure {
  return new OperationFailure({
    kind: FailureKind.TIMEOUT,
    retry: Retry.NEW_ATTEMPT,
    reason: `${what} did not end within its timeout of ${ms} ms`,
  });
}

/** The Failure of an operation that Close, expiry or drain ended (ALL-CLOSE-009). */
export function cancelledFailure(why: string): OperationFailure {
  return new OperationFailure({ kind: FailureKind.CANCELLED, retry: Retry.NEW_ATTEMPT, reason: why });
}
