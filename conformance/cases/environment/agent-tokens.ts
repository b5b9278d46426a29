import { Feature, RewardTiming } from "../../../gen/index.js";
import type { CallStatus } from "../../subject/reply.js";
import type { CallOptions } from "../../subject/subject-client.js";
import { duration, milliseconds } from "../shared/durations.js";
import { type EnvironmentTrial, environmentCheck, type OpenSession } from "./environment-trial.js";
import { idleActions, needIdle } from "./known-actions.js";
import { openFrames, stepped } from "./step-frames.js";

const shortLeaseMs = 1_000;
const dead = { code: ["UNAUTHENTICATED", "PERMISSION_DENIED"], reason: ["CREDENTIALS", "PERMISSION"] };

const check = (
  init: Omit<Parameters<typeof environmentCheck>[0], "features"> & { readonly features?: readonly Feature[] },
  run: (t: EnvironmentTrial) => Promise<void>,
) =>
  environmentCheck({ ...init, features: [Feature.PRINCIPALS, ...(init.features ?? [])] }, async (t) => {
    if (t.has(Feature.STEP)) await needIdle(t);
    await run(t);
  });

/** How the session's agent calls: by the token that Seed minted for it. */
function asAgent({ descriptor }: OpenSession, place = 0): CallOptions {
  return { headers: { authorization: `Bearer ${descriptor.agents[place]?.token ?? ""}` } };
}

/** Every call that an agent may make. */
function agentCalls(
  t: EnvironmentTrial,
  session: Pick<OpenSession, "id" | "descriptor">,
  options: CallOptions,
): [string, () => Promise<{ readonly status: CallStatus | undefined }>][] {
  const { id: sessionId, descriptor } = session;
  const agentId = descriptor.agents[0]?.agentId ?? "agent";
  const name = (): { case: "actionId"; value: string } => ({ case: "actionId", value: t.id("action") });
  return [
    ...(t.has(Feature.TOOLS)
      ? [["ListTools", () => t.calls.listTools({ sessionId, agentId }, options)] as const]
      : []),
    ...(t.has(Feature.STEP)
      ? [["Step", () => t.calls.step({ sessionId, name: name(), actions: idleActions(t) }, options)] as const]
      : []),
  ].map(([what, ask]) => [what, ask]);
}

function judgeDead(t: EnvironmentTrial, when: string, session: OpenSession): Promise<void> {
  return eachCall(t, agentCalls(t, session, asAgent(session)), (what, end) => {
    t.judge.refused(`${what} ${when}`, end, dead);
  });
}

async function eachCall(
  t: EnvironmentTrial,
  calls: ReturnType<typeof agentCalls>,
  one: (what: string, end: { readonly status: CallStatus | undefined }) => void,
): Promise<void> {
  if (calls.length === 0) t.notApplicable("agents of this environment have no calls");
  for (const [what, ask] of calls) one(what, await ask());
}

/** Agents' tokens: what they open, and until when. */
export const agentTokenChecks = [
  check(
    {
      clause: "ALL-PRIN-001",
      name: "minted",
      title: "ten sessions have ten tokens, unlike each other, each of 22 characters or more.",
    },
    async (t) => {
      const tokens: string[] = [];
      for (let round = 0; round < 10; round += 1) {
        const { descriptor } = await t.open();
        tokens.push(...descriptor.agents.map(({ token }) => token));
      }
      // 128 bits in base64 are 22 characters.
      t.judge.each("the tokens", tokens, (token) =>
        t.judge.that("a token", token.length >= 22, {
          expected: "22 characters or more",
          actual: token.length,
        }),
      );
      t.judge.equal("tokens unlike each other", new Set(tokens).size, tokens.length);
    },
  ),
  check(
    {
      clause: "ALL-PRIN-002",
      name: "controllers-calls",
      title: "an agent's token is denied every call of the controller, which changes nothing.",
      sendsInvalid: true,
    },
    async (t) => {
      const session = await t.open();
      const { id: sessionId, request } = session;
      const options = asAgent(session);
      const target = { case: "session" as const, value: { sessionId, verificationIndex: 0 } };
      const context = request.context === undefined ? {} : { context: request.context };
      const episode = context.context?.episodeId;
      const calls: readonly (readonly [
        string,
        Feature | undefined,
        () => Promise<{ status: CallStatus | undefined }>,
      ])[] = [
        ["Seed", undefined, () => t.calls.seed(t.seedRequest(), options)],
        ["Verify", undefined, () => t.calls.verify({ target }, options).finish()],
        ["KeepAlive", undefined, () => t.calls.keepAlive({ sessionId }, options)],
        [
          "Fork",
          Feature.FORK,
          () =>
            t.calls.fork(
              { sessionId: t.id("fork"), sourceSessionId: sessionId, ...context, expectedNextStepIndex: 0 },
              options,
            ),
        ],
        ["Advance", Feature.STAGES, () => t.calls.advance({ sessionId, stageIndex: 1 }, options)],
        [
          "ListTasks",
          Feature.TASK_LISTING,
          () => t.calls.listTasks({ split: t.described.splits[0]?.name ?? "" }, options),
        ],
        ["WatchSteps", Feature.WATCH_STEPS, () => t.calls.watchSteps({ sessionId }, options).finish()],
        [
          "Close",
          undefined,
          () =>
            t.calls.close({ sessionId, ...(episode === undefined ? {} : { episodeId: episode }) }, options),
        ],
      ];
      for (const [what, feature, ask] of calls) {
        if (feature === undefined || t.has(feature)) t.judge.refused(`${what} by an agent`, await ask());
      }
      t.judge.answer("KeepAlive by the controller", await t.calls.keepAlive({ sessionId }));
      const verified = await session.verify(0, { submission: t.fixture.sample.bad?.submission });
      t.result("Verify 0 by the controller", verified);
    },
  ),
  check(
    {
      clause: "ALL-PRIN-003",
      name: "agents-calls",
      title: "an agent's token may list its tools and step in its session, in a stream too.",
      stacks: ["connect-node", "grpc-js"],
    },
    async (t) => {
      const session = await t.open();
      const options = asAgent(session);
      await eachCall(t, agentCalls(t, session, options), (what, { status }) =>
        t.judge.equal(`the status of ${what}`, status, undefined),
      );
      if (!t.has(Feature.STEP_STREAM)) return;
      const frames = openFrames(t, t.calls, options);
      stepped(t, "a step in a stream", await frames.step(session.id, 1, idleActions(t)));
      frames.cancel();
    },
  ),
  check(
    {
      clause: "ALL-PRIN-004",
      name: "foreign-as-unknown",
      title: "an agent's token gets the same answer for a foreign session and for one that never was.",
      sendsInvalid: true,
    },
    async (t) => {
      const [own, foreign] = [await t.open(), await t.open()];
      const options = asAgent(own);
      const answers = async (id: string) => {
        const told: Record<string, unknown> = {};
        await eachCall(t, agentCalls(t, { ...own, id }, options), (what, { status }) => {
          t.judge.that(`${what} of ${id}`, status !== undefined, { expected: "a refusal", actual: "OK" });
          const { code, reason, message, fields } = status ?? {
            code: "",
            reason: "",
            message: "",
            fields: [],
          };
          told[what] = { code, reason, fields, message: message.replaceAll(id, "ID") };
        });
        return told;
      };
      t.judge.equal(
        "the answers for a foreign id",
        await answers(foreign.id),
        await answers(t.id("unknown")),
      );
    },
  ),
  check(
    {
      clause: "ALL-PRIN-005",
      name: "dead-after-close",
      title: "an agent's token is dead after Close.",
      sendsInvalid: true,
    },
    async (t) => {
      const session = await t.open();
      await eachCall(t, agentCalls(t, session, asAgent(session)), (what, { status }) =>
        t.judge.equal(`the status of ${what} before Close`, status, undefined),
      );
      t.judge.answer("Close", await session.close());
      await judgeDead(t, "after Close", session);
    },
  ),
  check(
    {
      clause: "ALL-PRIN-007",
      name: "no-reward",
      title:
        "a step by an agent's token is answered without reward unless reward_visible; the controller's with it.",
      features: [Feature.STEP],
    },
    async (t) => {
      const session = await t.open();
      const reward = session.descriptor.declarations?.reward;
      const rewarded = reward?.timing !== RewardTiming.TERMINAL;
      const step = async (index: number, options: CallOptions) => {
        const name = { case: "stepIndex" as const, value: index };
        const asked = { sessionId: session.id, name, actions: idleActions(t) };
        return t.judge.answer(`step ${index}`, await t.calls.step(asked, options)).outcomes;
      };
      const visible = reward?.rewardVisible === true && rewarded;
      t.judge.each("what the agent got", await step(0, asAgent(session)), (outcome) =>
        t.judge.equal("an outcome has a reward", outcome.reward !== undefined, visible),
      );
      t.judge.each("what the controller got", await step(1, {}), (outcome) =>
        t.judge.equal("an outcome has a reward", outcome.reward !== undefined, rewarded),
      );
    },
  ),
  check(
    {
      clause: "ALL-PRIN-009",
      name: "dead-after-expiry",
      title: "an agent's token is dead after its session's lease.",
      lane: "waiting",
      within: 60,
      sendsInvalid: true,
    },
    async (t) => {
      const session = await t.open({ lease: duration(shortLeaseMs) });
      const lease = milliseconds(session.descriptor.lease?.duration) ?? shortLeaseMs;
      await t.pause(lease + 1_000);
      await judgeDead(t, "after expiry", session);
    },
  ),
  check(
    {
      clause: "ALL-PRIN-010",
      name: "dead-after-final",
      title: "an agent's token is dead from the final Verify on, and not after one that is not final.",
      sendsInvalid: true,
    },
    async (t) => {
      const session = await t.open();
      const submission = t.fixture.sample.bad?.submission;
      t.result("a Verify that is not final", await session.verify(0, { submission }));
      await eachCall(t, agentCalls(t, session, asAgent(session)), (what, { status }) =>
        t.judge.equal(`the status of ${what} before`, status, undefined),
      );
      t.result("the final Verify", await session.verify(1, { final: true, submission }));
      await judgeDead(t, "after the final Verify", session);
    },
  ),
  check(
    {
      clause: "ALL-PRIN-011",
      name: "own-agent-only",
      title: "the token of one agent may not act for another; what it sent changes nothing.",
      features: [Feature.MULTI_AGENT, Feature.STEP],
      sendsInvalid: true,
    },
    async (t) => {
      const session = await t.open();
      const { agents } = session.descriptor;
      const [move] = idleActions(t);
      if (move === undefined) throw new Error("a sample's step without actions");
      const other = agents.findIndex(({ agentId }) => agentId !== move.agentId);
      const name = { case: "stepIndex" as const, value: 0 };
      const request = { sessionId: session.id, name, actions: [move] };
      t.judge.refused("a move by another's token", await t.calls.step(request, asAgent(session, other)));
      const own = agents.findIndex(({ agentId }) => agentId === move.agentId);
      t.judge.answer("by its own", await t.calls.step(request, asAgent(session, own)));
    },
  ),
  check(
    {
      clause: "ALL-PRIN-012",
      name: "keep-alive",
      title: "KeepAlive by an agent's token is denied and renews nothing.",
      lane: "waiting",
      within: 60,
      sendsInvalid: true,
    },
    async (t) => {
      const session = await t.open({ lease: duration(shortLeaseMs) });
      const { id: sessionId } = session;
      const lease = milliseconds(session.descriptor.lease?.duration) ?? shortLeaseMs;
      t.judge.refused("at once", await t.calls.keepAlive({ sessionId }, asAgent(session)));
      for (let waited = 0; waited < lease + 1_000; waited += lease / 3) {
        await t.pause(lease / 3);
        await t.calls.keepAlive({ sessionId }, asAgent(session));
      }
      const { status } = await t.calls.keepAlive({ sessionId });
      t.judge.equal("the reason after the lease", status?.reason, "SESSION_EXPIRED");
    },
  ),
  check(
    {
      clause: "ALL-PRIN-013",
      name: "replay",
      title: "a replayed Seed answers the same tokens, and they work.",
    },
    async (t) => {
      const session = await t.open();
      const again = t.judge.answer("the repeat", await t.calls.seed(session.request));
      t.judge.equal(
        "the tokens",
        again.session?.agents.map(({ token }) => token),
        session.descriptor.agents.map(({ token }) => token),
      );
      await eachCall(t, agentCalls(t, session, asAgent(session)), (what, { status }) =>
        t.judge.equal(`the status of ${what}`, status, undefined),
      );
    },
  ),
];
