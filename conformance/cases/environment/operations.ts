import { clone } from "@bufbuild/protobuf";
import type { Duration } from "@bufbuild/protobuf/wkt";
import {
  Feature,
  type SeedRequest,
  SeedRequestSchema,
  type StepRequest,
  type Submission,
  type Task,
  type VerifyRequest,
  type VerifyResponse,
} from "../../../gen/index.js";
import type { CallStatus, Reply, StreamReply } from "../../subject/reply.js";
import type { AskedOperation, OperationEnd, OperationKind, Provoked } from "../shared/operation-kind.js";
import { duration, type EnvironmentTrial, milliseconds, type OpenSession } from "./environment-trial.js";

const mandatory: ReadonlySet<Provoked> = new Set(["slow", "invalid"]);

/** The line of conformance.yaml that makes a kind of operation do something. */
function provocation<K extends "action" | "submission" | "task">(
  t: EnvironmentTrial,
  what: Provoked,
  kind: K,
) {
  const path = `environment.${what}.${kind}`;
  const value = t.fixture[what]?.[kind];
  return mandatory.has(what) ? t.must(value, path) : t.may(value, path);
}

function unaryEnd(
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

function verifyEnd({ messages, status, headers, trailers }: StreamReply<VerifyResponse>): OperationEnd {
  const last = messages.at(-1)?.event;
  const result = last?.case === "result" ? last.value : undefined;
  const accepted = messages.find(({ event }) => event.case === "accepted")?.event;
  const lost: CallStatus | undefined =
    status ??
    (result === undefined ? { ...noResult, message: `${messages.length} events, no result` } : undefined);
  return {
    answer: result,
    status: lost,
    answerId: result?.answerId ?? "",
    failure: result?.outcome.case === "failure" ? result.outcome.value : status?.failure,
    timeoutMs: accepted?.case === "accepted" ? milliseconds(accepted.value.timeout) : undefined,
    headers,
    trailers,
  };
}

/** A stream that ended OK without its terminal event: a lost connection (R17). */
const noResult: CallStatus = {
  code: "UNAVAILABLE",
  message: "",
  domain: "",
  reason: "",
  metadata: {},
  fields: [],
  descriptions: [],
  retryMs: undefined,
  failure: undefined,
  detailBytes: 0,
};

function askedSeed(t: EnvironmentTrial, request: SeedRequest): AskedOperation {
  return {
    request,
    sessionId: request.sessionId,
    ask: async (asked = request, { elsewhere, ...options } = {}) =>
      unaryEnd(await (elsewhere === true ? t.elsewhere() : t.calls).seed(asked as SeedRequest, options)),
    otherContent: () => ({ ...clone(SeedRequestSchema, request), seed: (request.seed ?? 0n) + 1n }),
    timed: (ms) => ({ ...clone(SeedRequestSchema, request), timeout: duration(ms) }),
  };
}

const seed: OperationKind<EnvironmentTrial> = {
  rpc: "Seed",
  features: [],
  failureInAnswer: false,
  creating: true,
  numbered: false,
  prepare: async (t) => askedSeed(t, t.seedRequest()),
  async provoke(t, what) {
    const task: Task = provocation(t, what, "task");
    return askedSeed(t, t.seedRequest({ source: { case: "task", value: task } }));
  },
  following: async (t) => askedSeed(t, t.seedRequest()),
};

function askedStep(
  t: EnvironmentTrial,
  session: OpenSession,
  of: { readonly index: number; readonly actions: StepRequest["actions"] },
): AskedOperation & { readonly session: OpenSession; readonly index: number } {
  const request = {
    sessionId: session.id,
    name: { case: "stepIndex" as const, value: of.index },
    actions: of.actions,
  };
  return {
    request,
    session,
    index: of.index,
    sessionId: session.id,
    ask: async (asked = request, { elsewhere, ...options } = {}) =>
      unaryEnd(await (elsewhere === true ? t.elsewhere() : t.calls).step(asked as StepRequest, options)),
    otherContent: () => ({ ...request, actions: otherActions(t, of.actions) }),
    timed: (ms) => ({ ...request, timeout: duration(ms) }),
  };
}

/** Actions that differ from these, and would be valid at their place. */
function otherActions(t: EnvironmentTrial, actions: StepRequest["actions"]): StepRequest["actions"] {
  const others = [...(t.fixture.sample.good?.steps ?? []), ...(t.fixture.sample.bad?.steps ?? [])];
  const text = JSON.stringify(actions);
  const other = others.find((one) => JSON.stringify(one.actions) !== text);
  return t.must(other, "environment.sample.bad.steps with an action unlike the first good one").actions;
}

const step: OperationKind<EnvironmentTrial> = {
  rpc: "Step",
  features: [Feature.STEP],
  failureInAnswer: false,
  creating: false,
  numbered: true,
  async prepare(t) {
    const actions = t.must(t.fixture.sample.good?.steps[0]?.actions, "environment.sample.good.steps");
    return askedStep(t, await t.open(), { index: 0, actions });
  },
  async provoke(t, what) {
    const action = provocation(t, what, "action");
    return askedStep(t, await t.open(), { index: 0, actions: [action] });
  },
  async following(t, before) {
    const { session, index } = before as ReturnType<typeof askedStep>;
    const actions = t.must(t.fixture.sample.bad?.steps[0]?.actions, "environment.sample.bad.steps");
    return askedStep(t, session, { index: index + 1, actions });
  },
};

function askedVerify(
  t: EnvironmentTrial,
  session: OpenSession,
  of: { readonly index: number; readonly submission: Submission | undefined },
): AskedOperation & { readonly session: OpenSession; readonly index: number } {
  const request = session.verifyRequest(of.index, { submission: of.submission });
  return {
    request,
    session,
    index: of.index,
    sessionId: session.id,
    ask: async (asked = request, { elsewhere, ...options } = {}) =>
      verifyEnd(
        await (elsewhere === true ? t.elsewhere() : t.calls).verify(asked as VerifyRequest, options).finish(),
      ),
    otherContent: () => session.verifyRequest(of.index, { submission: otherSubmission(t, of.submission) }),
    timed: (ms) => ({ ...request, timeout: duration(ms) }),
  };
}

function otherSubmission(t: EnvironmentTrial, submission: Submission | undefined): Submission {
  const { good, bad } = t.fixture.sample;
  const other = submission === good?.submission ? bad?.submission : good?.submission;
  return t.must(other, "environment.sample.bad.submission");
}

const verify: OperationKind<EnvironmentTrial> = {
  rpc: "Verify",
  features: [],
  failureInAnswer: true,
  creating: false,
  numbered: true,
  async prepare(t) {
    const submission = t.must(t.fixture.sample.good?.submission, "environment.sample.good.submission");
    return askedVerify(t, await t.open(), { index: 0, submission });
  },
  async provoke(t, what) {
    const submission = provocation(t, what, "submission");
    return askedVerify(t, await t.open(), { index: 0, submission });
  },
  async following(t, before) {
    const { session, index } = before as ReturnType<typeof askedVerify>;
    return askedVerify(t, session, { index: index + 1, submission: t.fixture.sample.bad?.submission });
  },
};

/** The operations of an environment. */
export const environmentOperations: readonly OperationKind<EnvironmentTrial>[] = [seed, step, verify];
