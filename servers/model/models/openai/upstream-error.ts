import { APIError } from "openai";
import { Boundary, Delivery, FailureKind, Retry } from "../../../../gen/index.js";
import { fromMs } from "../../../runtime/duration.js";
import { OperationFailure } from "../../../runtime/failure.js";
import { Refusal } from "../../../runtime/refusal.js";
import { invalidOutput } from "../../invalid-output.js";
import { ConnectionError } from "./upstream-fetch.js";

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

/** What the caller is told: a refusal where nothing was done and time may cure it, else a failure. */
export function toldAs(error: UpstreamError, tries: Tries): Error {
  const tried = `${tries.attempts} attempt${tries.attempts === 1 ? "" : "s"} in ${Math.round(tries.elapsedMs)} ms${
    tries.bound === undefined ? "" : `; ${tries.bound}`
  }`;
  switch (error.kind) {
    case "unreachable":
      return unavailable(`the upstream could not be reached: ${tried}`, tries, {
        delivery: Delivery.NOT_SENT,
      });
    case "broken":
      return unavailable(
        error.answered
          ? `the upstream closed the connection before its answer was whole: ${tried}`
          : `the connection to the upstream broke before it answered: ${tried}`,
        tries,
        { delivery: error.answered ? Delivery.DELIVERED : Delivery.POSSIBLY_DELIVERED },
      );
    case "status":
      return toldStatus(error, tries, tried);
    case "context":
      return unavailable(`the upstream says that the prompt is longer than its context: ${tried}`, tries, {
        delivery: Delivery.DELIVERED,
        retry: Retry.NEVER,
      });
    case "filter":
      return unavailable(`a filter of the upstream took the prompt: ${tried}`, tries, {
        delivery: Delivery.DELIVERED,
        retry: Retry.NEVER,
      });
    case "failed":
      return unavailable(
        `the upstream failed in the middle of its answer${named(error.code)}: ${tried}`,
        tries,
        {
          delivery: Delivery.DELIVERED,
        },
      );
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
  return unavailable(`${why} (${status}${named(code)}): ${tried}`, tries, {
    delivery: Delivery.DELIVERED,
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
  readonly retry?: Retry;
  readonly status?: number;
  readonly retryAfterMs?: number | undefined;
}

function unavailable(reason: string, tries: Tries, told: Unavailable): OperationFailure {
  const { attempts, elapsedMs } = tries;
  return new OperationFailure({
    kind: FailureKind.MODEL_UNAVAILABLE,
    retry: told.retry ?? Retry.NEW_ATTEMPT,
    reason,
    ...(told.retryAfterMs === undefined ? {} : { retryAfter: fromMs(told.retryAfterMs) }),
    detailsJson: JSON.stringify({
      attempts,
      elapsed_ms: Math.round(elapsedMs),
      ...(told.status === undefined ? {} : { status: told.status }),
    }),
    causes: [
      {
        boundary: Boundary.MODEL,
        kind: FailureKind.MODEL_UNAVAILABLE,
        delivery: told.delivery,
        reason: reason.slice(0, 300),
      },
    ],
  });
}
