import { expect, describe as group, it } from "vitest";
import {
  Boundary,
  Delivery,
  FailureKind,
  OnAgentFailure,
  Retry,
  Stage,
  StopMode,
  StopReason,
} from "../../gen/index.js";
import { hang } from "../../test/scripted-peer.js";
import { OperationFailedError, timeoutFailure, toFailure } from "../runtime/failure.js";
import {
  answered,
  environmentScript,
  hangingTurn,
  hangingVerify,
  turn,
  verdict,
  verified,
} from "./fixtures/scripted-cast.js";
import { method, type Ran, ServedEpisodes } from "./fixtures/served-episodes.js";
import { answerGraceMs } from "./phases.js";
import type { PhaseTimeouts } from "./timeouts.js";

const seconds = (s: number) => ({ seconds: BigInt(s), nanos: 0 });

/** Lets phases take this long, by the driver's clock, and runs an episode. */
async function runTaking(
  episodes: ServedEpisodes,
  takes: { readonly seedMs: number; readonly activationMs: number; readonly verificationMs: number },
): Promise<Ran> {
  const { seed } = environmentScript();
  const gates: (() => void)[] = [];
  const gate = () => new Promise<void>((resolve) => gates.push(resolve));
  episodes.environment.script.seed = async (request, call) => {
    await gate();
    return (await seed?.(request, call)) ?? {};
  };
  episodes.agent.script.activate = async function* () {
    await gate();
    yield* answered();
  };
  episodes.environment.script.verify = async function* () {
    await gate();
    yield* verified({ case: "verdict", value: verdict(0.5) });
  };
  let ended = false;
  const running = episodes.run().finally(() => {
    ended = true;
  });
  for (const [rpc, ms] of [
    ["seed", takes.seedMs],
    ["activate", takes.activationMs],
    ["verify", takes.verificationMs],
  ] as const) {
    while (!ended && !episodes.seen.some((call) => call.rpc === rpc)) await episodes.settle();
    await episodes.pass(ms);
    for (const open of gates.splice(0)) open();
  }
  return await running;
}

group("Each phase has its own bound (EPI-E5-003, field-case-055)", () => {
  const bounds = { seedMs: 5000, activationMs: 10_000, verificationMs: 1000 };
  const takes = { seedMs: 4000, activationMs: 7500, verificationMs: 500 };

  it("a long activation is not cut by a short verification bound", async () => {
    await using episodes = await ServedEpisodes.start({ timeouts: bounds });
    const { verdict: scored, outcome } = await runTaking(episodes, takes);
    expect(scored).toBeDefined();
    expect(outcome?.timings).toMatchObject({
      seed: seconds(4),
      activate: { seconds: 7n, nanos: 500_000_000 },
      verify: { seconds: 0n, nanos: 500_000_000 },
    });
  });

  const swaps: [swapped: Partial<PhaseTimeouts>, knob: string, stage: Stage][] = [
    [{ seedMs: 1000, verificationMs: 5000 }, "seed_timeout", Stage.SEED],
    [{ activationMs: 5000, seedMs: 10_000 }, "activation_timeout", Stage.ACTIVATE],
    [{ activationMs: 1000, verificationMs: 10_000 }, "activation_timeout", Stage.ACTIVATE],
  ];
  for (const [swapped, knob, stage] of swaps) {
    it(`swapped values fail exactly the matching phase: ${knob} ${Object.values(swapped).join("/")}`, async () => {
      await using episodes = await ServedEpisodes.start({ timeouts: { ...bounds, ...swapped } });
      const { failure } = await runTaking(episodes, takes);
      expect(failure).toMatchObject({ kind: FailureKind.TIMEOUT, retry: Retry.NEW_ATTEMPT, stage });
      expect(failure?.reason).toContain(knob);
    });
  }

  const hanging: [name: string, knob: keyof PhaseTimeouts, text: string, stage: Stage, boundary: Boundary][] =
    [
      ["seed", "seedMs", "seed_timeout", Stage.SEED, Boundary.ENVIRONMENT],
      ["openGateway", "openMs", "open_timeout", Stage.OPEN_GATEWAY, Boundary.MODEL],
      ["open", "openMs", "open_timeout", Stage.OPEN, Boundary.AGENT],
      ["activate", "activationMs", "activation_timeout", Stage.ACTIVATE, Boundary.AGENT],
      ["verify", "verificationMs", "verification_timeout", Stage.VERIFY, Boundary.ENVIRONMENT],
    ];
  for (const [rpc, bound, knob, stage, boundary] of hanging) {
    it(`a peer that ignores its timeout does not hold the episode: ${rpc} (field-case-046)`, async () => {
      await using episodes = await ServedEpisodes.start({ timeouts: { [bound]: 2000 } });
      const { environment, agent, model } = episodes;
      if (rpc === "seed") environment.script.seed = (_request, call) => hang(call);
      if (rpc === "openGateway") model.script.openGateway = (_request, call) => hang(call);
      if (rpc === "open") agent.script.open = (_request, call) => hang(call);
      if (rpc === "activate") agent.script.activate = (_request, call) => hangingTurn(call);
      if (rpc === "verify") environment.script.verify = (_request, call) => hangingVerify(call);
      const running = episodes.run();
      while (!episodes.seen.some((call) => call.rpc === rpc)) await episodes.settle();
      const request = episodes.seen.find((call) => call.rpc === rpc)?.request;
      expect(request).toMatchObject({ timeout: seconds(2) });
      await episodes.pass(2000 + answerGraceMs);
      const { failure } = await running;
      expect(failure).toMatchObject({
        kind: FailureKind.TIMEOUT,
        retry: Retry.NEW_ATTEMPT,
        stage,
        causes: [
          { boundary, kind: FailureKind.TIMEOUT, rpc: expect.stringMatching(new RegExp(`/${rpc}$`, "i")) },
        ],
      });
      expect(failure?.causes[0]?.delivery).not.toBe(Delivery.NOT_SENT);
      expect(failure?.reason).toBe(`${knob} of 2000 ms has passed`);
    });
  }

  it("a passed bound and a cancel are told apart in the outcome (field-case-003)", async () => {
    await using episodes = await ServedEpisodes.start({ timeouts: { activationMs: 500 } });
    episodes.agent.script.activate = (_request, call) => hangingTurn(call);
    const late = episodes.run();
    await episodes.agent.arrived("activate");
    await episodes.pass(500 + answerGraceMs);
    expect((await late).failure?.kind).toBe(FailureKind.TIMEOUT);
    const context = { episodeId: { rolloutId: "r2" } };
    const stopped = episodes.run({ context });
    await episodes.agent.arrived("activate", 2);
    await episodes.client.unary(method.stop, { ...context, mode: StopMode.ABANDON });
    expect((await stopped).failure?.kind).toBe(FailureKind.CANCELLED);
  });

  it("a bound that is none is refused by name", async () => {
    await using episodes = await ServedEpisodes.start();
    const { error } = await episodes.run({ timeouts: { seed: { seconds: -1n, nanos: 0 } } });
    expect(error).toMatchObject({ reason: "INVALID_FIELD", fields: ["timeouts.seed"] });
    expect((await episodes.run({ timeouts: { activation: seconds(0) } })).error?.fields).toEqual([
      "timeouts.activation",
    ]);
  });

  it("a peer that keeps to its timeout is heard, and the failure names the knob", async () => {
    await using episodes = await ServedEpisodes.start({ timeouts: { seedMs: 3000 } });
    let end: () => void = () => {};
    const ends = new Promise<void>((resolve) => {
      end = resolve;
    });
    episodes.environment.script.seed = async () => {
      await ends;
      throw new OperationFailedError(toFailure(timeoutFailure("Seed", 3000), { stage: Stage.SEED }), "a");
    };
    const running = episodes.run();
    await episodes.environment.arrived("seed");
    await episodes.pass(3000);
    end();
    const { failure } = await running;
    expect(failure).toMatchObject({ kind: FailureKind.TIMEOUT, stage: Stage.SEED, retry: Retry.NEW_ATTEMPT });
    expect(failure?.reason).toBe(
      "seed_timeout (3000 ms) has passed: Seed did not end within its timeout of 3000 ms",
    );
  });

  it("a bound within a peer's work passes earlier, and is told as what it is", async () => {
    await using episodes = await ServedEpisodes.start();
    const step = timeoutFailure("step", 60_000);
    episodes.agent.script.activate = () =>
      turn({ case: "failed", value: { failure: toFailure(step, { stage: Stage.STEP }) } });
    const { failure } = await episodes.run();
    expect(failure?.reason).toBe("step did not end within its timeout of 60000 ms");
  });

  it("all that take part must say in time what they are", async () => {
    await using episodes = await ServedEpisodes.start();
    episodes.agent.script.describe = (_request, call) => hang(call);
    const running = episodes.run();
    await episodes.agent.arrived("describe");
    await episodes.pass(10_000);
    const { failure, outcome } = await running;
    expect(failure).toMatchObject({
      kind: FailureKind.TIMEOUT,
      stage: Stage.CHECK,
      retry: Retry.NEW_ATTEMPT,
      causes: [{ boundary: Boundary.AGENT }],
    });
    expect(outcome?.timings).toMatchObject({ check: seconds(10) });
    expect(episodes.environment.count("seed")).toBe(0);
  });
});

group("Without a value a declared default holds (EPI-E5-004, field-case-052)", () => {
  it("Describe tells all of them, and each call is given its own", async () => {
    await using episodes = await ServedEpisodes.start({ timeouts: { verificationMs: 1000 } });
    const { message } = await episodes.client.unary(method.describe, {});
    expect(message?.defaultTimeouts).toMatchObject({
      queue: seconds(0),
      episode: seconds(3600),
      seed: seconds(300),
      open: seconds(120),
      activation: seconds(1800),
      verification: seconds(1),
      cleanUp: seconds(30),
    });
    const { events } = await episodes.run({ timeouts: { seed: seconds(7) } });
    expect(events[0]?.event.value).toMatchObject({ timeout: seconds(3600) });
    expect(episodes.environment.requests("seed")[0]?.timeout).toMatchObject(seconds(7));
    expect(episodes.environment.requests("verify")[0]?.timeout).toMatchObject(seconds(1));
    expect(episodes.agent.requests("activate")[0]?.timeout).toMatchObject(seconds(1800));
  });

  it("a verifier that never ends is ended at the default, and at what the run asks", async () => {
    await using episodes = await ServedEpisodes.start();
    episodes.environment.script.verify = (_request, call) => hangingVerify(call);
    const cases = [
      { change: {}, ms: 600_000 },
      { change: { timeouts: {} }, ms: 600_000 },
      { change: { timeouts: { verification: seconds(1) } }, ms: 1000 },
    ];
    for (const [i, { change, ms }] of cases.entries()) {
      const running = episodes.run({ ...change, context: { episodeId: { rolloutId: `r${i}` } } });
      await episodes.environment.arrived("verify", i + 1);
      await episodes.pass(ms + answerGraceMs);
      const { failure, verdict: scored } = await running;
      expect(scored).toBeUndefined();
      expect(failure?.reason).toBe(`verification_timeout of ${ms} ms has passed`);
    }
  });
});

group("The episode's clock (E5)", () => {
  it("passed before the last activation's end: TIMEOUT, stage ACTIVATE, whatever the policy (EPI-E5-001)", async () => {
    for (const onAgentFailure of [OnAgentFailure.FAIL, OnAgentFailure.VERIFY, OnAgentFailure.VERIFY_MASKED]) {
      await using episodes = await ServedEpisodes.start({ timeouts: { episodeMs: 5000 } });
      episodes.agent.script.activate = (_request, call) => hangingTurn(call);
      const running = episodes.run({ onAgentFailure });
      await episodes.agent.arrived("activate");
      await episodes.pass(5000);
      const { failure, outcome } = await running;
      expect(failure).toMatchObject({
        kind: FailureKind.TIMEOUT,
        stage: Stage.ACTIVATE,
        retry: Retry.NEW_ATTEMPT,
        reason: "episode_timeout of 5000 ms has passed",
      });
      // It is the episode's failure, not the agent's.
      expect(outcome?.agentEnds[0]?.failure).toBeUndefined();
      expect(episodes.environment.count("verify")).toBe(0);
    }
  });

  it("passed in Seed it is the same", async () => {
    await using episodes = await ServedEpisodes.start({ timeouts: { episodeMs: 5000 } });
    episodes.environment.script.seed = (_request, call) => hang(call);
    const running = episodes.run();
    await episodes.environment.arrived("seed");
    await episodes.pass(5000);
    const { failure, outcome } = await running;
    expect(failure).toMatchObject({ kind: FailureKind.TIMEOUT, stage: Stage.ACTIVATE });
    expect(outcome?.cleanUps).toMatchObject([{ released: true }]);
  });

  it("counts from Seed, over all phases to the last activation (EPI-E5-006)", async () => {
    await using episodes = await ServedEpisodes.start({ timeouts: { episodeMs: 5000 } });
    const { seed, describe } = environmentScript();
    let go: () => void = () => {};
    const gate = () => new Promise<void>((resolve) => (go = resolve));
    episodes.environment.script.describe = async (request, call) => {
      await gate();
      return (await describe?.(request, call)) ?? {};
    };
    episodes.environment.script.seed = async (request, call) => {
      await gate();
      return (await seed?.(request, call)) ?? {};
    };
    episodes.agent.script.activate = (_request, call) => hangingTurn(call);
    const running = episodes.run();
    await episodes.environment.arrived("describe");
    await episodes.pass(9000);
    go();
    await episodes.environment.arrived("seed");
    await episodes.pass(3000);
    go();
    await episodes.agent.arrived("activate");
    await episodes.pass(1999);
    expect(episodes.agent.count("close")).toBe(0);
    await episodes.pass(1);
    expect((await running).failure?.reason).toContain("episode_timeout");
  });

  it("never cuts Verify nor clean-up: each has its own budget, told apart (EPI-E5-005, field-case-051)", async () => {
    await using episodes = await ServedEpisodes.start({
      timeouts: { episodeMs: 10_000, verificationMs: 20_000, cleanUpMs: 20_000 },
    });
    const { outcome, verdict: scored } = await runTaking(episodes, {
      seedMs: 0,
      activationMs: 9000,
      verificationMs: 19_000,
    });
    expect(scored?.reward?.value).toBe(0.5);
    expect(outcome?.timings).toMatchObject({ activate: seconds(9), verify: seconds(19) });
  });
});

group(
  "The agent's own budget spent is no failure: what is there is verified (EPI-E5-002, field-case-027)",
  () => {
    for (const stopReason of [
      StopReason.MAX_TURNS,
      StopReason.WALL_TIME,
      StopReason.CONTEXT_LENGTH,
      77 as StopReason,
    ]) {
      it(`${StopReason[stopReason] ?? "a reason that is not known here"}`, async () => {
        await using episodes = await ServedEpisodes.start();
        episodes.agent.script.activate = () => turn({ case: "completed", value: { stopReason } });
        const { verdict: scored, outcome } = await episodes.run();
        expect(scored).toBeDefined();
        expect(outcome?.agentEnds).toMatchObject([{ stopReason, activations: 1 }]);
        expect(outcome?.agentEnds[0]?.failure).toBeUndefined();
      });
    }
  },
);
