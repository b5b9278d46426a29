import type { Submission, VerifyRequest, VerifyResponse, VerifyResult } from "../../../../gen/index.js";
import { type CallStatus, lostStream, type StreamReply } from "../../../subject/reply.js";
import { milliseconds } from "../../shared/durations.js";
import type { StreamEvent } from "../../shared/events.js";
import type { OperationEnd, OperationKind } from "../../shared/operation-kind.js";
import type { EnvironmentTrial, OpenSession } from "../environment-trial.js";
import {
  askedOperation,
  openOf,
  provocation,
  type SessionOperation,
  sessionOf,
} from "./session-operation.js";

/** The end of a verification: its terminal event, without which it is a lost connection (R17). */
export function verifyEnd(reply: StreamReply<VerifyResponse>): OperationEnd {
  const { messages, headers, trailers } = reply;
  const last = messages.at(-1)?.event;
  const result = last?.case === "result" ? last.value : undefined;
  const accepted = messages.find(({ event }) => event.case === "accepted")?.event;
  const status: CallStatus | undefined =
    reply.status ?? (result === undefined ? lostStream(messages.length) : undefined);
  return {
    answer: result,
    status,
    answerId: result?.answerId ?? "",
    failure: result?.outcome.case === "failure" ? result.outcome.value : status?.failure,
    timeoutMs: accepted?.case === "accepted" ? milliseconds(accepted.value.timeout) : undefined,
    headers,
    trailers,
  };
}

function askedVerify(
  t: EnvironmentTrial,
  session: OpenSession,
  { index, submission }: { readonly index: number; readonly submission: Submission | undefined },
): SessionOperation {
  const request = session.verifyRequest(index, { submission });
  const asked = askedOperation(t, {
    request,
    sessionId: session.id,
    send: async (calls, verify, options) =>
      verifyEnd(await calls.verify(verify as VerifyRequest, options).finish()),
    otherContent: () => session.verifyRequest(index, { submission: otherSubmission(t, submission) }),
    close: ({ elsewhere, ...options } = {}) =>
      (elsewhere === true ? t.through(session, t.elsewhere()) : session).close(options),
  });
  return { ...asked, session, index };
}

function otherSubmission(t: EnvironmentTrial, submission: Submission | undefined): Submission {
  const { good, bad } = t.fixture.sample;
  const other = submission === good?.submission ? bad?.submission : good?.submission;
  return t.must(other, "environment.sample.bad.submission");
}

const good = (t: EnvironmentTrial): Submission =>
  t.must(t.fixture.sample.good?.submission, "environment.sample.good.submission");

function eventOf({ sequence, event }: VerifyResponse): StreamEvent {
  return { sequence, kind: event.case ?? "", value: event.value };
}

/** Verify of a session, as the shared rules see it. */
export const verifyOperation: OperationKind<EnvironmentTrial> = {
  rpc: "Verify",
  features: [],
  failureInAnswer: true,
  creating: false,
  numbered: true,
  streamed: {
    terminal: ["result"],
    open: (t, request) => t.elsewhere().verify(request as VerifyRequest),
    read: (message) => eventOf(message as VerifyResponse),
    async all(t, request) {
      const reply = await t
        .elsewhere()
        .verify(request as VerifyRequest)
        .finish();
      return t.judge.stream("the stream of Verify", reply).map(eventOf);
    },
  },
  available: () => true,
  outcome({ answer, status }) {
    const outcome = (answer as VerifyResult | undefined)?.outcome;
    return outcome?.case === "verdict"
      ? { reward: outcome.value.reward, components: outcome.value.components, success: outcome.value.success }
      : { failure: outcome?.value, code: status?.code };
  },
  badPath: (t) => t.fixture.invalid?.submission_path ?? "",
  crashText: (t) => t.may(t.fixture.crash, "environment.crash").text,
  prepare: async (t) => askedVerify(t, await t.open(), { index: 0, submission: good(t) }),
  async provoke(t, what, init) {
    const submission = provocation(t, what, "submission");
    return askedVerify(t, await t.open(openOf(init)), { index: 0, submission });
  },
  async following(t, before) {
    const { session, index } = before as SessionOperation;
    return askedVerify(t, session, { index: index + 1, submission: t.fixture.sample.bad?.submission });
  },
  instead: async (t, refused) => askedVerify(t, sessionOf(refused), { index: 0, submission: good(t) }),
  besides: async (t, other) => askedVerify(t, sessionOf(other), { index: 0, submission: good(t) }),
};
