import {
  EnvironmentService,
  type EpisodeContext,
  Feature,
  type SeedRequest,
  type SeedResponse,
} from "../../../gen/index.js";
import type { Reply } from "../../subject/reply.js";
import { milliseconds } from "../shared/durations.js";
import type { SessionCall, SessionKind, SharedSession } from "../shared/session-kind.js";
import type { EnvironmentTrial } from "./environment-trial.js";
import { askedSeed } from "./operations/seed.js";
import { openOf } from "./operations/session-operation.js";

function callsOf(t: EnvironmentTrial, sessionId: string, context: EpisodeContext): SessionCall[] {
  const { good } = t.fixture.sample;
  const actions = good?.steps[0]?.actions ?? [];
  const calls: (SessionCall & { readonly feature?: Feature })[] = [
    { rpc: "KeepAlive", ask: () => t.calls.keepAlive({ sessionId }) },
    {
      rpc: "Verify",
      ask: () =>
        t.calls.verify({ target: { case: "session", value: { sessionId, verificationIndex: 0 } } }).finish(),
    },
    {
      rpc: "Step",
      feature: Feature.STEP,
      ask: () =>
        t.calls.step({ sessionId, name: { case: "actionId", value: t.id("action") }, actions: [...actions] }),
    },
    {
      rpc: "ListTools",
      feature: Feature.TOOLS,
      ask: () => t.calls.listTools({ sessionId, agentId: actions[0]?.agentId ?? "agent" }),
    },
    {
      rpc: "Advance",
      feature: Feature.STAGES,
      ask: () => t.calls.advance({ sessionId, stageIndex: 1 }),
    },
    {
      rpc: "Fork",
      feature: Feature.FORK,
      ask: () =>
        t.calls.fork({
          sessionId: t.id("fork"),
          sourceSessionId: sessionId,
          context,
          expectedNextStepIndex: 0,
        }),
    },
    {
      rpc: "WatchSteps",
      feature: Feature.WATCH_STEPS,
      ask: () => t.calls.watchSteps({ sessionId }).finish(),
    },
  ];
  return calls.filter(({ feature }) => feature === undefined || t.has(feature));
}

function sharedSession(
  t: EnvironmentTrial,
  request: SeedRequest,
  seeded: SeedResponse | undefined,
): SharedSession {
  const { sessionId, context } = request;
  const own = context ?? t.context();
  return {
    id: sessionId,
    context,
    echoed: seeded?.session?.context,
    lease: seeded?.session?.lease,
    created: askedSeed(t, request),
    close: ({ elsewhere, episodeId, ...options } = {}) => {
      const asked = episodeId ?? own.episodeId;
      return (elsewhere === true ? t.elsewhere() : t.calls).close(
        { sessionId, ...(asked === undefined ? {} : { episodeId: asked }) },
        options,
      );
    },
    keepAlive: ({ elsewhere, ...options } = {}) =>
      (elsewhere === true ? t.elsewhere() : t.calls).keepAlive({ sessionId }, options),
    calls: () => callsOf(t, sessionId, own),
  };
}

/** Sessions of an environment. */
export const environmentSessions: SessionKind<EnvironmentTrial> = {
  rpc: `${EnvironmentService.name}.Seed`,
  async open(t, init) {
    const request = t.seedRequest(openOf(init));
    const reply: Reply<SeedResponse> = await t.calls.seed(request);
    return sharedSession(t, request, t.judge.answer(`Seed ${request.sessionId}`, reply));
  },
  unopened(t, id, episodeId) {
    const context = episodeId === undefined ? t.context() : t.contextOf(episodeId);
    return sharedSession(t, t.seedRequest({ sessionId: id, context }), undefined);
  },
  idField: "session_id",
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
