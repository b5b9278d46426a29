import { clone, create } from "@bufbuild/protobuf";
import {
  type EpisodeEvent,
  type EpisodeOutcome,
  EpisodeService,
  EpisodeTimeoutsSchema,
  FailureKind,
  FailureSchema,
  Retry,
  type RunRequest,
  RunRequestSchema,
  type RunResponse,
  Stage,
  StopMode,
} from "../../../gen/index.js";
import { NotApplicable } from "../../check/finding.js";
import type { Scene } from "../../peers/cast.js";
import { answeredTurn, endlessTurn, turnOf } from "../../peers/scene-scripts.js";
import { lostStream, type StreamReply } from "../../subject/reply.js";
import { duration, milliseconds } from "../shared/durations.js";
import type { StreamEvent } from "../shared/events.js";
import type { AskedOperation, OperationEnd, OperationKind, Provoked } from "../shared/operation-kind.js";
import type { OpenInit } from "../shared/session-kind.js";
import { type EpisodeTrial, endOf, seconds, shortTimeouts } from "./episode-trial.js";

const slowMs = 500;
const longMs = 3_000;

function operationEnd({ messages, status, headers, trailers }: StreamReply<RunResponse>): OperationEnd {
  const { events, outcome, failure } = endOf(messages, status);
  const accepted = events.find(({ event }) => event.case === "accepted")?.event;
  return {
    answer: outcome,
    status: status ?? (outcome === undefined ? lostStream(messages.length) : undefined),
    answerId: outcome?.answerId ?? "",
    failure: failure ?? status?.failure,
    timeoutMs: accepted?.case === "accepted" ? milliseconds(accepted.value.timeout) : undefined,
    headers,
    trailers,
  };
}

interface AskedRun extends AskedOperation {
  readonly request: RunRequest;
}

function askedRun(t: EpisodeTrial, request: RunRequest): AskedRun {
  const rolloutId = request.context?.episodeId?.rolloutId ?? "";
  const stop = async (options: Parameters<AskedOperation["close"]>[0] = {}) => {
    const { elsewhere, ...rest } = options;
    const reply = await (elsewhere === true ? t.elsewhere() : t.calls).stop(
      { episodeId: { rolloutId }, mode: StopMode.ABANDON },
      rest,
    );
    return reply.message === undefined ? reply : { ...reply, message: {} };
  };
  return {
    request,
    sessionId: rolloutId,
    close: stop,
    ask: async (one = request, { elsewhere, ...options } = {}) =>
      operationEnd(
        await (elsewhere === true ? t.elsewhere() : t.calls).run(one as RunRequest, options).finish(),
      ),
    askAndCut() {
      const connection = t.connect();
      const feed = connection.client(EpisodeService).run(request);
      return { end: feed.finish().then(operationEnd), cut: () => connection.cut() };
    },
    otherContent: () => ({ ...clone(RunRequestSchema, request), envSeed: 77n }),
    timed: (ms) => ({
      ...clone(RunRequestSchema, request),
      timeouts: create(EpisodeTimeoutsSchema, { ...shortTimeouts, episode: duration(ms) }),
    }),
  };
}

async function eventsOf<T>(events: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const event of events) all.push(event);
  return all;
}

/** What an agent that breaks says, which nobody else may read. */
const crashText = "crash-text-of-the-agent";

/** Lets an agent work for so long before it answers. */
function working(t: EpisodeTrial, scene: Scene, ms: number): void {
  scene.scripts.agent.activate = async function* () {
    const [accepted, ...rest] = await eventsOf(answeredTurn());
    if (accepted !== undefined) yield accepted;
    await t.pause(ms);
    yield* rest;
  };
}

function provoke(t: EpisodeTrial, what: Provoked, { sessionId }: OpenInit = {}): AskedRun {
  const scene = sessionId === undefined ? t.scene() : t.cast.scene(sessionId);
  const { bindings } = t.fixture;
  switch (what) {
    case "slow":
      working(t, scene, slowMs);
      return askedRun(t, t.request(scene, { timeouts: { ...shortTimeouts, activation: seconds(30) } }));
    case "long":
      working(t, scene, longMs);
      return askedRun(t, t.request(scene, { timeouts: { ...shortTimeouts, activation: seconds(30) } }));
    case "hang":
    case "never":
      scene.scripts.agent.activate = (_request, call) => endlessTurn(call);
      return askedRun(t, t.request(scene));
    case "new_attempt": {
      const failure = create(FailureSchema, {
        kind: FailureKind.MODEL_UNAVAILABLE,
        retry: Retry.NEW_ATTEMPT,
        stage: Stage.ACTIVATE,
        reason: "the model is down",
      });
      scene.scripts.agent.activate = () => turnOf({ case: "failed", value: { answerId: "t", failure } });
      return askedRun(t, t.request(scene));
    }
    case "crash":
      scene.scripts.agent.activate = () => {
        throw new Error(crashText);
      };
      return askedRun(t, t.request(scene));
    case "invalid":
      return askedRun(
        t,
        t.request(scene, {
          agents: [{ agentId: "no/agent", agent: bindings.agent, model: bindings.model }],
        }),
      );
    default:
      throw new NotApplicable(`an episode cannot be made to ${what}`);
  }
}

function eventOf({ sequence, event }: EpisodeEvent): StreamEvent {
  return { sequence, kind: event.case ?? "", value: event.value };
}

const read = ({ event }: RunResponse): StreamEvent =>
  event === undefined ? { sequence: 0n, kind: "", value: undefined } : eventOf(event);

/** Run, as the shared rules see it. */
export const runOperation: OperationKind<EpisodeTrial> = {
  rpc: "Run",
  features: [],
  failureInAnswer: true,
  creating: true,
  numbered: false,
  streamed: {
    terminal: ["outcome"],
    open: (t, request) => t.elsewhere().run(clone(RunRequestSchema, request as RunRequest)),
    read: (message) => read(message as RunResponse),
    async all(t, request) {
      const reply = await t
        .elsewhere()
        .run(request as RunRequest)
        .finish();
      return t.judge.stream("the stream of Run", reply).map(read);
    },
  },
  available: () => true,
  outcome: ({ answer, status }) => {
    const outcome = (answer as EpisodeOutcome | undefined)?.outcome;
    return {
      code: status?.code,
      reward: outcome?.case === "verdict" ? outcome.value.reward?.value : undefined,
      kind: outcome?.case === "failure" ? outcome.value.kind : undefined,
    };
  },
  badPath: () => "agents[0].agent_id",
  crashText: () => crashText,
  prepare: async (t) => askedRun(t, t.request(t.scene())),
  provoke: async (t, what, init) => provoke(t, what, init),
  following: async (t) => askedRun(t, t.request(t.scene())),
  instead: async (t, { sessionId }) => askedRun(t, t.request(t.cast.scene(sessionId))),
  besides: async (t) => askedRun(t, t.request(t.scene())),
};
