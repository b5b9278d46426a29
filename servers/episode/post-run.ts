import { z } from "zod";
import { Boundary, Delivery, FailureKind, Retry, type Task } from "../../gen/index.js";
import { fromMs } from "../runtime/duration.js";
import { type FailureInit, OperationFailure } from "../runtime/failure.js";
import { ConnectionError, httpFetch } from "../runtime/http-fetch.js";
import type { OutsidePlay } from "./define-driver.js";
import type { Played } from "./outside-play.js";
import { readRunAnswer } from "./run-answer.js";

/** A service that plays a whole episode in one HTTP call: NeMo Gym's agents and their like. */
export const runServiceSchema = z.strictObject({
  url: z.url({ protocol: /^https?$/ }).describe("Where a row is posted: http://host:port/run."),
  headers: z.record(z.string(), z.string()).default({}).describe("Headers of each call: credentials."),
  minimum: z.number().describe("Least possible reward. Absent: any finite number.").optional(),
  maximum: z.number().describe("Greatest possible reward.").optional(),
  max_answer_bytes: z
    .int()
    .min(1)
    .default(64 << 20)
    .describe("Largest answer that is read. 64 MiB."),
});
export type RunService = z.output<typeof runServiceSchema>;

/**
 * Posts a task's row to a service that plays the episode, and reads its verdict. The call has no name by which it could
 * be repeated: it is made once, and what may have been delivered is never sent again (R2).
 */
export async function postRun(
  service: RunService,
  { request, headers, signal }: OutsidePlay,
): Promise<Played> {
  const row = rowOf(request.source.case === "task" ? request.source.value : undefined);
  const http = httpFetch({ ...headers, ...service.headers });
  try {
    const response = await http.fetch(service.url, { method: "POST", body: row, signal });
    const text = await readText(response, service.max_answer_bytes);
    if (response.ok) return readRunAnswer(text, row, service);
    throw refused(response);
  } catch (error) {
    throw asFailure(error);
  } finally {
    http.close();
  }
}

/** The row as it was published; a task without one is its public data. */
function rowOf(task: Task | undefined): string {
  const row = task?.row;
  const text = row === undefined ? (task?.publicJson ?? "") : Buffer.from(row.data).toString("utf8");
  if (text !== "" && isObject(text)) return text;
  throw new OperationFailure({
    kind: FailureKind.PROTOCOL_VIOLATION,
    retry: Retry.NEVER,
    reason:
      "expected a task whose row or public data is a JSON object, which is what the service is posted; found none",
  });
}

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

async function readText(response: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > maxBytes) {
      throw seen({
        kind: FailureKind.PROTOCOL_VIOLATION,
        retry: Retry.NEVER,
        reason: `the service's answer is larger than the ${maxBytes} bytes that are read`,
      });
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Statuses that say to come again. */
const trySomeTime = new Set([408, 425, 429]);

/** A status that is no answer: what the service has trouble with another attempt may cure, what it refuses not. */
function refused({ status, headers }: Response): OperationFailure {
  const curable = status >= 500 || trySomeTime.has(status);
  const seconds = Number(headers.get("retry-after") ?? Number.NaN);
  return seen({
    kind: curable ? FailureKind.UNAVAILABLE : FailureKind.PROTOCOL_VIOLATION,
    retry: curable ? Retry.NEW_ATTEMPT : Retry.NEVER,
    reason: `the service answered status ${status}`,
    ...(curable && seconds >= 0 ? { retryAfter: fromMs(seconds * 1000) } : {}),
  });
}

/** A failure of a call that was answered. */
function seen(failure: FailureInit): OperationFailure {
  const { kind = FailureKind.UNSPECIFIED } = failure;
  return new OperationFailure({ ...failure, causes: [cause(kind, Delivery.DELIVERED)] });
}

function cause(kind: FailureKind, delivery: Delivery) {
  return {
    $typeName: "touchstone.v1.Cause",
    boundary: Boundary.EPISODE,
    kind,
    rpc: "",
    delivery,
    reason: "",
  } as const;
}

function asFailure(error: unknown): unknown {
  if (error instanceof OperationFailure) return error;
  if (!(error instanceof Error)) return error;
  const sent = !(error instanceof ConnectionError) || error.sent;
  const kind = FailureKind.UNAVAILABLE;
  return new OperationFailure(
    {
      kind,
      retry: Retry.NEW_ATTEMPT,
      reason: sent
        ? "the connection to the service broke before its whole answer came"
        : "the service cannot be reached",
      causes: [cause(kind, sent ? Delivery.POSSIBLY_DELIVERED : Delivery.NOT_SENT)],
    },
    { cause: error },
  );
}
