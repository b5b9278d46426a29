import { clone } from "@bufbuild/protobuf";
import {
  type ActivateRequest,
  ActivateRequestSchema,
  type ActivateResponse,
  AgentSessionService,
  Feature,
  type OpenRequest,
  OpenRequestSchema,
  type OpenResponse,
} from "../../../gen/index.js";
import { NotApplicable } from "../../check/finding.js";
import { type Saying, says } from "../../peers/scripted-model.js";
import { lostStream, type StreamReply } from "../../subject/reply.js";
import type { CallOptions } from "../../subject/subject-client.js";
import { duration, milliseconds } from "../shared/durations.js";
import type { StreamEvent } from "../shared/events.js";
import type { AskedOperation, OperationEnd, OperationKind, Provoked } from "../shared/operation-kind.js";
import type { OpenInit, SessionKind, SharedSession } from "../shared/session-kind.js";
import type { AgentCalls, AgentPeers, AgentTrial } from "./agent-trial.js";

const slowMs = 500;
const longMs = 3_000;

/** Peers that live as long as the check. */
async function peersOf(t: AgentTrial, sayings?: readonly Saying[]): Promise<AgentPeers> {
  const peers = await t.peers(sayings);
  t.signal.addEventListener("abort", () => void peers[Symbol.asyncDispose](), { once: true });
  return peers;
}

function openInit({ sessionId, leaseMs, context }: OpenInit = {}) {
  return {
    ...(sessionId === undefined ? {} : { sessionId }),
    ...(leaseMs === undefined ? {} : { lease: duration(leaseMs) }),
    ...(context === undefined ? {} : { context }),
  };
}

function closeOf(t: AgentTrial, { sessionId, context }: OpenRequest): AskedOperation["close"] {
  return ({ elsewhere, ...options } = {}) =>
    (elsewhere === true ? t.elsewhere() : t.calls).close(
      { sessionId, ...(context?.episodeId === undefined ? {} : { episodeId: context.episodeId }) },
      options,
    );
}

function asked(
  t: AgentTrial,
  parts: {
    readonly request: object;
    readonly opened: OpenRequest;
    send(calls: AgentCalls, request: object, options: CallOptions): Promise<OperationEnd>;
    otherContent(): object;
  },
): AskedOperation {
  const { request, opened, send, otherContent } = parts;
  return {
    request,
    sessionId: opened.sessionId,
    otherContent,
    close: closeOf(t, opened),
    ask: (one = request, { elsewhere, ...options } = {}) =>
      send(elsewhere === true ? t.elsewhere() : t.calls, one, options),
    askAndCut() {
      const connection = t.connect();
      return { end: send(connection.client(AgentSessionService), request, {}), cut: () => connection.cut() };
    },
    timed: (ms) => ({ ...request, timeout: duration(ms) }),
  };
}

function askedOpen(t: AgentTrial, request: OpenRequest): AskedOperation {
  return {
    ...asked(t, {
      request,
      opened: request,
      async send(calls, one, options) {
        const { message, status, headers, trailers } = await calls.open(one as OpenRequest, options);
        const { answerId = "", timeout } = message ?? {};
        const failure = status?.failure;
        return {
          answer: message,
          status,
          answerId,
          failure,
          timeoutMs: milliseconds(timeout),
          headers,
          trailers,
        };
      },
      otherContent: () => ({ ...clone(OpenRequestSchema, request), instructions: "other" }),
    }),
    quick: true,
  };
}

const notProvoked = (what: Provoked): never => {
  throw new NotApplicable(`the runner cannot make an agent's work ${what}`);
};

/** Open, as the shared rules see it. */
export const openOperation: OperationKind<AgentTrial> = {
  rpc: "Open",
  features: [],
  failureInAnswer: false,
  creating: true,
  numbered: false,
  available: () => true,
  outcome: ({ answer, status }) => ({
    dialect: (answer as OpenResponse | undefined)?.dialect,
    skipped: (answer as OpenResponse | undefined)?.skipped,
    code: status?.code,
  }),
  badPath: () => "agent_id",
  crashText: () => "",
  prepare: async (t) => askedOpen(t, t.openRequest(await peersOf(t))),
  async provoke(t, what, init) {
    const peers = await peersOf(t);
    if (what === "slow" || what === "long") return askedOpen(t, t.openRequest(peers, openInit(init)));
    if (what === "invalid")
      return askedOpen(t, t.openRequest(peers, { ...openInit(init), agentId: "no/agent" }));
    return notProvoked(what);
  },
  following: async (t) => askedOpen(t, t.openRequest(await peersOf(t))),
  instead: async (t, { sessionId }) => askedOpen(t, t.openRequest(await peersOf(t), { sessionId })),
  besides: async (t) => askedOpen(t, t.openRequest(await peersOf(t))),
};

function activationEnd({ messages, status, headers, trailers }: StreamReply<ActivateResponse>): OperationEnd {
  const last = messages.at(-1)?.event;
  const end = last?.case === "completed" || last?.case === "failed" ? last.value : undefined;
  const accepted = messages.find(({ event }) => event.case === "accepted")?.event;
  return {
    answer: end,
    status: status ?? (end === undefined ? lostStream(messages.length) : undefined),
    answerId: end?.answerId ?? "",
    failure: last?.case === "failed" ? last.value.failure : status?.failure,
    timeoutMs: accepted?.case === "accepted" ? milliseconds(accepted.value.timeout) : undefined,
    headers,
    trailers,
  };
}

interface Activation extends AskedOperation {
  readonly opened: OpenRequest;
  readonly index: number;
}

function askedActivation(t: AgentTrial, opened: OpenRequest, index: number): Activation {
  const activation = (text: string): ActivateRequest => ({
    $typeName: "touchstone.v1.ActivateRequest",
    sessionId: opened.sessionId,
    activationIndex: index,
    input: [t.said(text)],
    afterSequence: 0n,
  });
  const request = activation("Do it.");
  return {
    ...asked(t, {
      request,
      opened,
      send: async (calls, one, options) =>
        activationEnd(await calls.activate(one as ActivateRequest, options).finish()),
      otherContent: () => activation("Do something else."),
    }),
    opened,
    index,
  };
}

function eventOf({ sequence, event }: ActivateResponse): StreamEvent {
  return { sequence, kind: event.case ?? "", value: event.value };
}

async function session(t: AgentTrial, sayings?: readonly Saying[], init?: OpenInit): Promise<OpenRequest> {
  const { request } = await t.open(await peersOf(t, sayings), openInit(init));
  return request;
}

/** Activate, as the shared rules see it. */
export const activateOperation: OperationKind<AgentTrial> = {
  rpc: "Activate",
  features: [Feature.CONTINUATION],
  failureInAnswer: true,
  creating: false,
  numbered: true,
  streamed: {
    terminal: ["completed", "failed"],
    open: (t, request) => t.elsewhere().activate(clone(ActivateRequestSchema, request as ActivateRequest)),
    read: (message) => eventOf(message as ActivateResponse),
    async all(t, request) {
      const reply = await t
        .elsewhere()
        .activate(request as ActivateRequest)
        .finish();
      return t.judge.stream("the stream of Activate", reply).map(eventOf);
    },
  },
  available: (t) => t.has(Feature.CONTINUATION),
  outcome({ answer, status }) {
    const completed = answer as { stopReason?: number } | undefined;
    return { stop: completed?.stopReason, code: status?.code };
  },
  badPath: () => "input",
  crashText: () => "",
  prepare: async (t) => askedActivation(t, await session(t), 0),
  async provoke(t, what, init) {
    switch (what) {
      case "slow":
        return askedActivation(
          t,
          await session(t, [{ afterMs: slowMs, answer: says("done") }, says("done")], init),
          0,
        );
      case "long":
        return askedActivation(
          t,
          await session(t, [{ afterMs: longMs, answer: says("done") }, says("done")], init),
          0,
        );
      case "hang":
        return askedActivation(t, await session(t, ["hang"], init), 0);
      case "invalid": {
        const good = askedActivation(t, await session(t, undefined, init), 0);
        const bad = { ...good.request, input: [{ ...t.said("x"), kind: { case: undefined } }] };
        return { ...good, request: bad, ask: (one = bad, options) => good.ask(one, options) };
      }
      default:
        return notProvoked(what);
    }
  },
  async following(t, before) {
    const { opened, index } = before as Activation;
    return askedActivation(t, opened, index + 1);
  },
  instead: async (t, refused) => askedActivation(t, (refused as Activation).opened, 0),
  besides: async (t) => askedActivation(t, await session(t), 0),
};

function sharedSession(t: AgentTrial, request: OpenRequest, answer: OpenResponse | undefined): SharedSession {
  const { sessionId, context } = request;
  const own = context ?? t.context();
  return {
    id: sessionId,
    context,
    echoed: answer?.context,
    lease: answer?.lease,
    created: askedOpen(t, request),
    close: ({ elsewhere, episodeId, ...options } = {}) => {
      const by = episodeId ?? own.episodeId;
      return (elsewhere === true ? t.elsewhere() : t.calls).close(
        { sessionId, ...(by === undefined ? {} : { episodeId: by }) },
        options,
      );
    },
    keepAlive: ({ elsewhere, ...options } = {}) =>
      (elsewhere === true ? t.elsewhere() : t.calls).keepAlive({ sessionId }, options),
    calls: () => [
      { rpc: "KeepAlive", ask: () => t.calls.keepAlive({ sessionId }) },
      {
        rpc: "Activate",
        ask: () => t.calls.activate({ sessionId, activationIndex: 0, input: [t.said("Do it.")] }).finish(),
      },
    ],
  };
}

/** Sessions of an agent. */
export const agentSessions: SessionKind<AgentTrial> = {
  rpc: `${AgentSessionService.name}.Open`,
  idField: "session_id",
  async open(t, init) {
    const request = t.openRequest(await peersOf(t), openInit(init));
    return sharedSession(
      t,
      request,
      t.judge.answer(`Open ${request.sessionId}`, await t.calls.open(request)),
    );
  },
  unopened(t, id, episodeId) {
    const context = t.context();
    if (episodeId !== undefined && context.episodeId !== undefined)
      Object.assign(context.episodeId, episodeId);
    // Nobody is called: what is judged is that it is refused, or opened without its peers being asked.
    const nobody = { url: "http://127.0.0.1:9" };
    const request = t.openRequest({ model: nobody, tools: nobody }, { sessionId: id, context });
    request.toolAccesses = [];
    return sharedSession(t, request, undefined);
  },
  contextOf: (t, init) => t.context(init),
  bounds(t) {
    const lease = t.described.service?.limits?.lease;
    return {
      minimum: milliseconds(lease?.minimum),
      default: milliseconds(lease?.defaultValue),
      maximum: milliseconds(lease?.maximum),
    };
  },
};
