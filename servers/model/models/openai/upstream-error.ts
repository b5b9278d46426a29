import { APIError } from "openai";
import { Boundary, Delivery, FailureKind, Retry } from "../../../../gen/index.js";
import { fromMs } from "../../../runtime/duration.js";
import { cutText, OperationFailure } from "../../../runtime/failure.js";
import { ConnectionError } from "../../../runtime/http-fetch.js";
import { Refusal } from "../../../runtime/refusal.js";
import { invalidOutput } from "../../invalid-output.js";

/** What came instead of an answer. The upstream's own words are not passed on: they may repeat a credential. */
export type UpstreamError =
  /** Nothing was sent. */
  | { readonly kind: "unreachable" }
  /** The connection broke; whether it was before the answer began tells `answered`. */
  | { readonly kind: "broken"; readonly answered: boolean }
  /** An HTTP status. */
  | {
      readonly kind: "status";
      readonly status: number;
      readonly code: string;
      readonly retryAfterMs: number | undefined;
    }
  /** The prompt, or what it may grow to, is longer than the context. */
  | { readonly kind: "context" }
  /** A filter of the provider. */
  | { readonly kind: "filter" }
  /** An error in the middle of an answer. */
  | { readonly kind: "failed"; readonly code: string }
  /** What was answered cannot be read. */
  | { readonly kind: "unreadable" };

/** What an answer can say: the context is full, a filter took the prompt. */
export type AnswerableKind = Extract<UpstreamError, { kind: "context" | "filter" }>;

/** What came in place of the rest of an answer. */
export type BrokenKind = Extract<UpstreamError, { kind: "broken" | "failed" | "unreadable" }>;

/** Whether an answer can say it. */
export function isAnswerable(error: UpstreamError): error is AnswerableKind {
  return error.kind === "context" || error.kind === "filter";
}

/** How servers say that a prompt is too long for them. */
const contextWords =
  /context.?(length|window)|max_(completion_)?tokens\D*(is too large|must be at least 1, got -)/i;

/** Reads what the client threw. */
export function readUpstreamError(error: unknown): UpstreamError {
  if (error instanceof APIError) {
    const { cause } = error as { cause?: unknown };
    if (error.status === undefined && cause instanceof Error) return readConnectionError(cause);
    const code = codeOf(error);
    if (
      code === "context_length_exceeded" ||
      (isBadRequest(error.status) && contextWords.test(error.message))
    ) {
      return { kind: "context" };
    }
    if (code === "content_filter") return { kind: "filter" };
    if (error.status === undefined) return { kind: "failed", code };
    return { kind: "status", status: error.status, code, retryAfterMs: retryAfter(error.headers) };
  }
  if (error instanceof SyntaxError) return { kind: "unreadable" };
  return { kind: "broken", answered: true };
}

function isBadRequest(status: number | undefined): boolean {
  return status === undefined || status === 400 || status === 413 || status === 422;
}

function readConnectionError(cause: Error): UpstreamError {
  if (cause instanceof ConnectionError && !cause.sent) return { kind: "unreachable" };
  return { kind: "broken", answered: false };
}

/** The upstream's name for the error, where it is a name. */
function codeOf(error: APIError): string {
  const names = [error.code, error.type].filter((name) => typeof name === "string");
  return names.find((name) => /^[a-z0-9_.-]{1,64}$/i.test(name ?? "")) ?? "";
}

/** Milliseconds that the upstream asks to wait. */
function retryAfter(headers: Headers | undefined): number | undefined {
  const precise = Number.parseFloat(headers?.get("retry-after-ms") ?? "");
  if (precise >= 0) return precise;
  const text = headers?.get("retry-after") ?? "";
  const seconds = Number.parseFloat(text);
  if (seconds >= 0) return seconds * 1000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

/** How often and how long an upstream was asked. */
export interface Tries {
  readonly attempts: number;
  readonly elapsedMs: number;
  /** What kept from another try, if it was the bound. */
  readonly bound?: string;
}

/** What the caller is told where no answer had begun: a refusal where nothing was done and time may cure it, else a failure. */
export function toldAs(error: Exclude<UpstreamError, AnswerableKind>, tries: Tries): Error {
  const { attempts, elapsedMs, bound } = tries;
  const tried = `${attempts} attempt${attempts === 1 ? "" : "s"} in ${Math.round(elapsedMs)} ms${
    bound === undefined ? "" : `; ${bound}`
  }`;
  switch (error.kind) {
    case "unreachable":
      return unavailable(`the upstream could not be reached: ${tried}`, {
        delivery: Delivery.NOT_SENT,
        tries,
      });
    case "status":
      return toldStatus(error, tries, tried);
    case "broken":
      return error.answered
        ? brokenAnswer(error)
        : unavailable(`the connection to the upstream broke before it answered: ${tried}`, {
            delivery: Delivery.POSSIBLY_DELIVERED,
            tries,
          });
    case "failed":
    case "unreadable":
      return brokenAnswer(error);
  }
}

/** What the caller is told where an answer had begun and did not come to its end. */
export function brokenAnswer(error: BrokenKind): OperationFailure {
  const delivery = Delivery.DELIVERED;
  switch (error.kind) {
    case "broken":
      return unavailable("the upstream closed the connection before its answer was whole", { delivery });
    case "failed":
      return unavailable(`the upstream failed in the middle of its answer${named(error.code)}`, { delivery });
    case "unreadable":
      return invalidOutput("the upstream's answer is no JSON");
  }
}

function toldStatus(
  { status, code, retryAfterMs }: Extract<UpstreamError, { kind: "status" }>,
  tries: Tries,
  tried: string,
): Error {
  if (status === 429) {
    return new Refusal("RATE_LIMITED", `the upstream takes no more calls for now (429): ${tried}`, {
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    });
  }
  const transient = status === 408 || status === 409 || status >= 500;
  const why =
    status === 401 || status === 403
      ? "the upstream did not accept the credential"
      : status === 404
        ? "the upstream knows no such model or path"
        : transient
          ? "the upstream failed"
          : "the upstream refused the request";
  return unavailable(`${why} (${status}${named(code)}): ${tried}`, {
    delivery: Delivery.DELIVERED,
    tries,
    retry: transient ? Retry.NEW_ATTEMPT : Retry.NEVER,
    status,
    retryAfterMs,
  });
}

function named(code: string): string {
  return code === "" ? "" : `, ${code}`;
}

interface Unavailable {
  readonly delivery: Delivery;
  readonly tries?: Tries;
  readonly retry?: Retry;
  readonly status?: number;
  readonly retryAfterMs?: number | undefined;
}

function unavailable(reason: string, told: Unavailable): OperationFailure {
  const { delivery, tries, status, retryAfterMs, retry = Retry.NEW_ATTEMPT } = told;
  const details = {
    ...(tries === undefined ? {} : { attempts: tries.attempts, elapsed_ms: Math.round(tries.elapsedMs) }),
    ...(status === undefined ? {} : { status }),
  };
  const kind = FailureKind.MODEL_UNAVAILABLE;
  return new OperationFailure({
    kind,
    retry,
    reason,
    ...(retryAfterMs === undefined ? {} : { retryAfter: fromMs(retryAfterMs) }),
    ...(Object.keys(details).length === 0 ? {} : { detailsJson: JSON.stringify(details) }),
    causes: [{ boundary: Boundary.MODEL, kind, delivery, reason: cutText(reason, 300) }],
  });
}
