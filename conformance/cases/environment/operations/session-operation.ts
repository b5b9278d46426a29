import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Duration } from "@bufbuild/protobuf/wkt";
import { EnvironmentService, type SeedRequestSchema } from "../../../../gen/index.js";
import type { Reply } from "../../../subject/reply.js";
import type { CallOptions } from "../../../subject/subject-client.js";
import { duration, milliseconds } from "../../shared/durations.js";
import type { AskedOperation, OperationEnd, Provoked } from "../../shared/operation-kind.js";
import type { OpenInit } from "../../shared/session-kind.js";
import type { EnvironmentCalls, EnvironmentTrial, OpenSession } from "../environment-trial.js";

/** An operation within an open session. */
export interface SessionOperation extends AskedOperation {
  readonly session: OpenSession;
  readonly index: number;
}

const mandatory: ReadonlySet<Provoked> = new Set(["slow", "long", "invalid"]);

/** The line of conformance.yaml that makes a kind of operation do something. */
export function provocation<K extends "action" | "submission" | "task">(
  t: EnvironmentTrial,
  what: Provoked,
  kind: K,
) {
  const path = `environment.${what}.${kind}`;
  const value = t.fixture[what]?.[kind];
  return mandatory.has(what) ? t.must(value, path) : t.may(value, path);
}

/** What a session is opened with beside the fixture's own. */
export function openOf({
  sessionId,
  leaseMs,
  context,
}: OpenInit = {}): MessageInitShape<typeof SeedRequestSchema> {
  return {
    ...(sessionId === undefined ? {} : { sessionId }),
    ...(leaseMs === undefined ? {} : { lease: duration(leaseMs) }),
    ...(context === undefined ? {} : { context }),
  };
}

/** The end of an operation with a single answer. */
export function unaryEnd(
  reply: Reply<{ readonly answerId: string; readonly timeout?: Duration | undefined }>,
): OperationEnd {
  const { message, status, headers, trailers } = reply;
  return {
    answer: message,
    status,
    answerId: message?.answerId ?? "",
    failure: status?.failure,
    timeoutMs: milliseconds(message?.timeout),
    headers,
    trailers,
  };
}

/** What an operation of an environment is made of. */
export interface OperationParts {
  readonly request: object;
  readonly sessionId: string;
  send(calls: EnvironmentCalls, request: object, options: CallOptions): Promise<OperationEnd>;
  otherContent(): object;
  close: AskedOperation["close"];
}

/** An operation that can be asked for over any connection. */
export function askedOperation(t: EnvironmentTrial, parts: OperationParts): AskedOperation {
  const { request, sessionId, send, otherContent, close } = parts;
  return {
    request,
    sessionId,
    otherContent,
    close,
    ask: (asked = request, { elsewhere, ...options } = {}) =>
      send(elsewhere === true ? t.elsewhere() : t.calls, asked, options),
    askAndCut() {
      const connection = t.connect();
      return {
        end: send(connection.client(EnvironmentService), request, {}),
        cut: () => connection.cut(),
      };
    },
    timed: (ms) => ({ ...request, timeout: duration(ms) }),
  };
}

/** The session of another operation, for one beside it. */
export function sessionOf(operation: AskedOperation): OpenSession {
  return (operation as SessionOperation).session;
}
