import { expect, describe as group, it } from "vitest";
import { Boundary, FailureKind, Feature, Retry, Stage } from "../../gen/index.js";
import { Refusal } from "../runtime/refusal.js";
import { described, seeded, turn, verdict, verified } from "./fixtures/scripted-cast.js";
import { ServedEpisodes } from "./fixtures/served-episodes.js";

type Scored = Parameters<typeof verified>[0];
type VerdictInit = ReturnType<typeof verdict>;

/** Answers these, one verification after the other; the last one again where there are no more. */
function verifies(episodes: ServedEpisodes, ...outcomes: Scored[]): void {
  episodes.environment.script.verify = () => {
    const outcome = outcomes.length > 1 ? outcomes.shift() : outcomes[0];
    return verified(outcome ?? { case: undefined });
  };
}

const busyJudge = (retryAfterS?: number): Scored => ({
  case: "failure",
  value: {
    kind: FailureKind.JUDGE_RATE_LIMITED,
    retry: Retry.NEXT_INDEX,
    reason: "busy judge",
    ...(retryAfterS === undefined ? {} : { retryAfter: { seconds: BigInt(retryAfterS), nanos: 0 } }),
  },
});

const indexes = (episodes: ServedEpisodes): number[] =>
  episodes.environment
    .requests("verify")
    .map(({ target }) => (target.case === "session" ? target.value.verificationIndex : -1));

group("The verdict is passed on unchanged (EPI-RUN-005, field-case-026)", () => {
  const verdicts: Record<string, VerdictInit> = {
    "a measured 0": { reward: { value: 0 } },
    "0.4 with parts": {
      reward: { value: 0.4 },
      components: { exact: 0 },
      metrics: { length: 7 },
      success: false,
    },
    masked: { reward: { value: 1 }, masked: { reason: "verifier_exposed" } },
    "masked without a measurement": { masked: { reason: "capture" } },
    "no work at all, a limit hit": { reward: { value: 0 }, limitHit: "time", diagnosticsJson: '{"a": 1}' },
  };
  for (const [name, value] of Object.entries(verdicts)) {
    it(name, async () => {
      await using episodes = await ServedEpisodes.start();
      verifies(episodes, { case: "verdict", value });
      const { verdict: told } = await episodes.run();
      expect(told).toMatchObject(value);
      // What is absent stays absent, and a measured 0 is present.
      expect(told?.reward?.value).toBe(value.reward?.value);
      expect(told?.masked?.reason).toBe(value.masked?.reason);
    });
  }

  it("without a reward it stays without: UNSCORED, never 0 (EPI-OUT-009)", async () => {
    await using episodes = await ServedEpisodes.start();
    verifies(episodes, { case: "verdict", value: {} });
    const { verdict: told } = await episodes.run();
    expect(told).toBeDefined();
    expect(told?.reward).toBeUndefined();
  });
});

group("A number that may not be averaged is failure INVALID_REWARD (EPI-OUT-010, field-case-029)", () => {
  for (const value of [Number.NaN, Number.POSITIVE_INFINITY, -0.2, 1.7]) {
    it(`a reward of ${value}`, async () => {
      await using episodes = await ServedEpisodes.start();
      verifies(episodes, { case: "verdict", value: verdict(value) });
      const { failure } = await episodes.run();
      expect(failure).toMatchObject({
        kind: FailureKind.INVALID_REWARD,
        retry: Retry.NEVER,
        stage: Stage.VERIFY,
      });
      expect(failure?.reason).toContain(String(value));
      expect(episodes.environment.count("close")).toBe(1);
    });
  }

  it("an agent's own reward, or a component", async () => {
    const parts: VerdictInit[] = [
      { agentRewards: { agent: { value: 7 } } },
      { components: { exact: Number.NaN } },
    ];
    for (const part of parts) {
      await using episodes = await ServedEpisodes.start();
      verifies(episodes, { case: "verdict", value: { ...verdict(1), ...part } });
      expect((await episodes.run()).failure?.kind).toBe(FailureKind.INVALID_REWARD);
    }
  });

  it("not where no range is declared, as long as it is finite", async () => {
    await using episodes = await ServedEpisodes.start();
    episodes.environment.script.seed = async (request) => seeded(request, { declarations: {} });
    verifies(episodes, { case: "verdict", value: verdict(17) });
    expect((await episodes.run()).verdict?.reward?.value).toBe(17);
  });
});

group("A Verify that fails is an episode that fails, without a reward (EPI-E6-007)", () => {
  // Whatever a judge broke on, it is never a 0 (field-case-024, field-case-028).
  for (const [kind, retry] of [
    [FailureKind.JUDGE_INVALID_OUTPUT, Retry.NEVER],
    [FailureKind.JUDGE_UNREACHABLE, Retry.NEW_ATTEMPT],
    [FailureKind.VERIFIER_FAILED, Retry.NEVER],
    [FailureKind.TIMEOUT, Retry.NEW_ATTEMPT],
    [99 as FailureKind, Retry.NEVER],
  ] as const) {
    it(`${FailureKind[kind] ?? "a kind that is not known here"}, its retry as it was told`, async () => {
      await using episodes = await ServedEpisodes.start();
      verifies(episodes, { case: "failure", value: { kind, retry, reason: "no score" } });
      const { failure, outcome, verdict: told } = await episodes.run();
      expect(told).toBeUndefined();
      expect(failure).toMatchObject({
        kind,
        retry,
        stage: Stage.VERIFY,
        causes: [{ boundary: Boundary.ENVIRONMENT, rpc: "touchstone.v1.EnvironmentService/Verify" }],
      });
      expect(failure?.reason).toContain("no score");
      // Kept for a later scoring (EPI-OUT-008).
      expect(outcome?.submission?.agents).toHaveLength(1);
      expect(Buffer.from(outcome?.verifierState ?? []).toString()).toBe("sealed");
      expect(indexes(episodes)).toEqual([0]);
    });
  }

  it("with a kind of its own: passed on verbatim", async () => {
    await using episodes = await ServedEpisodes.start();
    const value = {
      kind: FailureKind.CUSTOM,
      customKind: "acme:disk_on_fire",
      retry: Retry.NEVER,
      reason: "x\ny",
    };
    verifies(episodes, { case: "failure", value });
    expect((await episodes.run()).failure).toMatchObject(value);
  });

  it("says what was collected all the same", async () => {
    await using episodes = await ServedEpisodes.start();
    episodes.environment.script.verify = async function* () {
      for await (const event of verified({ case: "failure", value: { kind: FailureKind.VERIFIER_FAILED } })) {
        if (event.event.case === "result") {
          Object.assign(event.event.value, {
            collected: [
              {
                $typeName: "touchstone.v1.Artifact",
                name: "patch",
                mediaType: "",
                body: { case: "inline", value: Buffer.from("x") },
              },
            ],
          });
        }
        yield event;
      }
    };
    expect((await episodes.run()).outcome?.collected).toMatchObject([{ name: "patch" }]);
  });
});

group("A verification that the next index may cure (EPI-E6-013, EPI-AGF-003)", () => {
  it("is repeated in place, with what was handed in first", async () => {
    await using episodes = await ServedEpisodes.start();
    verifies(episodes, busyJudge(), { case: "verdict", value: verdict(1) });
    const { verdict: told, events } = await episodes.run({ verifyAttempts: 3 });
    expect(told?.reward?.value).toBe(1);
    expect(indexes(episodes)).toEqual([0, 1]);
    const submissions = episodes.environment
      .requests("verify")
      .map(({ submission }) => submission !== undefined);
    expect(submissions).toEqual([true, false]);
    const stages = events.flatMap(({ event }) =>
      event.case === "stage" && event.value.stage === Stage.VERIFY ? [event.value.index] : [],
    );
    expect(stages).toEqual([0, 1]);
  });

  it("at most verify_attempts times; then another attempt may help", async () => {
    await using episodes = await ServedEpisodes.start();
    verifies(episodes, busyJudge());
    const { failure } = await episodes.run({ verifyAttempts: 3 });
    expect(indexes(episodes)).toEqual([0, 1, 2]);
    expect(failure).toMatchObject({ kind: FailureKind.JUDGE_RATE_LIMITED, retry: Retry.NEW_ATTEMPT });
  });

  it("once where nothing is asked", async () => {
    await using episodes = await ServedEpisodes.start();
    verifies(episodes, busyJudge());
    expect((await episodes.run()).failure?.kind).toBe(FailureKind.JUDGE_RATE_LIMITED);
    expect(indexes(episodes)).toEqual([0]);
  });

  it("after the wait that it advises, by the driver's clock", async () => {
    await using episodes = await ServedEpisodes.start();
    verifies(episodes, busyJudge(20), { case: "verdict", value: verdict(1) });
    const running = episodes.run({ verifyAttempts: 2 });
    await episodes.environment.arrived("verify");
    await episodes.pass(19_999);
    expect(indexes(episodes)).toEqual([0]);
    await episodes.pass(1);
    expect((await running).verdict?.reward?.value).toBe(1);
  });

  it("not after a wait that is longer than a verification may take", async () => {
    await using episodes = await ServedEpisodes.start();
    verifies(episodes, busyJudge(601));
    const { failure } = await episodes.run({ verifyAttempts: 2 });
    expect(failure).toMatchObject({ kind: FailureKind.JUDGE_RATE_LIMITED, retry: Retry.NEW_ATTEMPT });
    expect(indexes(episodes)).toEqual([0]);
  });

  it("not behind a Stop, which ends the wait", async () => {
    await using episodes = await ServedEpisodes.start();
    verifies(episodes, busyJudge(20));
    const running = episodes.run({ verifyAttempts: 2 });
    await episodes.environment.arrived("verify");
    await episodes.settle();
    await episodes.stop();
    expect((await running).failure?.kind).toBe(FailureKind.CANCELLED);
    expect(indexes(episodes)).toEqual([0]);
  });
});

group("An agent that needed a model and never called it (EPI-RUN-010, field-case-088)", () => {
  it("is failure NO_MODEL_CALLS, no verdict", async () => {
    await using episodes = await ServedEpisodes.start();
    episodes.agent.script.activate = () => turn({ case: "completed", value: { stopReason: 1 } });
    episodes.model.script.closeGateway = async () => ({ receipt: { cleanupConfirmed: true }, calls: 0n });
    episodes.model.script.readCapture = async function* () {};
    const { failure, verdict: told } = await episodes.run();
    expect(told).toBeUndefined();
    expect(failure).toMatchObject({
      kind: FailureKind.NO_MODEL_CALLS,
      retry: Retry.NEVER,
      stage: Stage.ACTIVATE,
      agentId: "agent",
    });
    expect(episodes.environment.count("verify")).toBe(0);
    expect(episodes.environment.count("close")).toBe(1);
  });

  it("is told by the capture where the gateway's Close cannot tell", async () => {
    await using episodes = await ServedEpisodes.start({ timeouts: { cleanUpMs: 1000 } });
    episodes.model.script.readCapture = async function* () {};
    delete episodes.model.script.closeGateway;
    const { failure } = await episodes.run();
    expect(failure?.kind).toBe(FailureKind.NO_MODEL_CALLS);
  });

  it("is not told by a model server that was restarted and knows no such gateway", async () => {
    await using episodes = await ServedEpisodes.start();
    episodes.model.script.readCapture = () => {
      throw new Refusal("SESSION_UNKNOWN", "no such gateway");
    };
    episodes.model.script.closeGateway = async () => ({
      receipt: { neverOpened: true, cleanupConfirmed: true },
      calls: 0n,
    });
    const { failure, verdict: told, outcome } = await episodes.run();
    expect(failure).toBeUndefined();
    expect(told?.reward?.value).toBe(0.5);
    expect(outcome?.training?.usable).toBe(false);
  });

  it("one that declares that it needs none is scored, without a gateway", async () => {
    await using episodes = await ServedEpisodes.start();
    episodes.agent.script.describe = async () =>
      described({ modelDialects: [], service: { features: [Feature.REFERENCE] } });
    const { verdict: told, outcome } = await episodes.run();
    expect(told?.reward?.value).toBe(0.5);
    expect(episodes.seen.filter(({ peer }) => peer === "model")).toEqual([]);
    expect(outcome?.training).toMatchObject({
      usable: false,
      reasons: ["the agents made no model calls that were captured"],
    });
  });
});
