import { create } from "@bufbuild/protobuf";
import { expect, describe as group, it } from "vitest";
import {
  ActivateResponseSchema,
  FailureKind,
  Feature,
  Placement,
  Retry,
  Role,
  Stage,
  StopMode,
  StopReason,
  type VerifyRequest,
} from "../../../gen/index.js";
import {
  answered,
  described,
  say,
  seeded,
  turn,
  usage,
  verdict,
  verified,
} from "../fixtures/scripted-cast.js";
import { ServedEpisodes } from "../fixtures/served-episodes.js";
import { singleAgentTurn } from "./single-agent-turn.js";
import { stages } from "./stages.js";

const names = ["find", "fix", "prove"];

/** What the environment measures of a stage. */
interface Measured {
  readonly episodeOver?: boolean;
}

/** An environment whose task has three stages, each with a tool and a box user of its own. */
function script({ environment }: ServedEpisodes, measured: readonly Measured[] = []): void {
  let stage = 0;
  environment.script.describe = async () => ({
    service: { instanceId: "e-1", features: [Feature.STAGES] },
    environment: "world",
    placements: [Placement.NONE],
  });
  environment.script.seed = async (request) =>
    seeded(request, {
      stages: names.map((name, stageIndex) => ({ name, stageIndex })),
      agents: [
        {
          agentId: "agent",
          input: [say(Role.USER, "now find")],
          tools: [{ name: "tool-0" }],
          toolAccesses: [{ name: "step", way: { case: "step", value: { sessionId: "x" } } }],
          sandbox: { sandboxId: "box", user: "one" },
        },
      ],
    });
  environment.script.advance = async ({ stageIndex }) => {
    stage = stageIndex;
    return {
      answerId: "n",
      stage: { stageIndex, name: names[stageIndex] ?? "" },
      agents: [
        {
          agentId: "agent",
          input: [say(Role.USER, `now ${names[stageIndex]}`)],
          tools: [{ name: `tool-${stageIndex}` }],
        },
      ],
      user: stageIndex === 1 ? "two" : "",
      ...(stageIndex === 2 ? { agentBudget: { maxToolCalls: 7 } } : {}),
    };
  };
  environment.script.verify = () => {
    const { episodeOver = false } = measured[stage] ?? {};
    const value = (stage + 1) / 4;
    return verified({
      case: "verdict",
      value: { ...verdict(value), stage: { stageIndex: stage, stageReward: { value }, episodeOver } },
    });
  };
}

async function start(measured: readonly Measured[] = []): Promise<ServedEpisodes> {
  const episodes = await ServedEpisodes.start({ drivers: [stages] });
  script(episodes, measured);
  return episodes;
}

const continued = { optionsJson: JSON.stringify({ turn_sessions: "continue" }) };

/** Index and finality of each verification. */
const verifications = ({ environment }: ServedEpisodes): [number, boolean][] =>
  environment.requests("verify").map(({ target }: VerifyRequest): [number, boolean] => {
    if (target.case !== "session") throw new Error("not of a session");
    return [target.value.verificationIndex, target.value.final];
  });

const withoutModel = (order: readonly string[]): string[] =>
  order.filter((call) => !call.startsWith("model.") && !call.endsWith("describe"));

group("stages, a session for each", () => {
  it("verifies every stage and advances after each but the last (EPI-DRV-003, EPI-DRV-007)", async () => {
    await using episodes = await start();
    const { outcome, verdict: last } = await episodes.run();
    const stage = ["agent.open", "agent.activate", "agent.close", "environment.verify"];
    expect(withoutModel(episodes.order)).toEqual([
      "environment.seed",
      ...stage,
      "environment.advance",
      ...stage,
      "environment.advance",
      ...stage,
      "environment.close",
    ]);
    expect(verifications(episodes)).toEqual([
      [0, false],
      [1, false],
      [2, true],
    ]);
    // EPI-RUN-005: the last verdict combines the stages by itself.
    expect(last?.reward?.value).toBe(0.75);
    expect(outcome?.agentEnds).toMatchObject([
      { agentId: "agent", activations: 3, usage: { inputTokens: 30n } },
    ]);
    const { submission } = episodes.environment.requests("verify")[2] ?? {};
    expect(submission?.agents.map(({ agentId, items }) => [agentId, items.length])).toEqual([["agent", 3]]);
  });

  it("opens each session with the stage's input, tools and user; access and box stay those of Seed", async () => {
    await using episodes = await start();
    await episodes.run();
    const opened = episodes.agent.requests("open");
    expect(new Set(opened.map(({ sessionId }) => sessionId)).size).toBe(3);
    expect(opened.map(({ tools }) => tools.map(({ name }) => name))).toEqual([
      ["tool-0"],
      ["tool-1"],
      ["tool-2"],
    ]);
    expect(opened.map(({ sandbox }) => [sandbox?.sandboxId, sandbox?.user])).toEqual([
      ["box", "one"],
      ["box", "two"],
      // From then on.
      ["box", "two"],
    ]);
    for (const { toolAccesses } of opened) expect(toolAccesses.map(({ name }) => name)).toEqual(["step"]);
    expect(opened.map(({ budget }) => budget?.maxToolCalls)).toEqual([undefined, undefined, 7]);
    const inputs = episodes.agent.requests("activate").map(({ input }) => input[0]);
    expect(inputs).toMatchObject([
      say(Role.USER, "now find"),
      say(Role.USER, "now fix"),
      say(Role.USER, "now prove"),
    ]);
  });

  it("tells what each stage earned in the trajectory, and stages in the events", async () => {
    await using episodes = await start();
    const { events } = await episodes.run();
    const { records } = await episodes.trajectory();
    const told = records.flatMap(({ record }) =>
      record.case === "stageVerdict" ? [record.value.stage?.stageReward?.value] : [],
    );
    expect(told).toEqual([0.25, 0.5]);
    const begun = events.flatMap(({ event }) =>
      event.case === "stage" && event.value.stage === Stage.ADVANCE ? [event.value.index] : [],
    );
    expect(begun).toEqual([1, 2]);
  });

  it("ends where a verdict says that the episode is over (EPI-DRV-009)", async () => {
    await using episodes = await start([{}, { episodeOver: true }]);
    const ran = await episodes.run();
    expect(episodes.environment.count("advance")).toBe(1);
    expect(verifications(episodes)).toEqual([
      [0, false],
      [1, false],
      [2, true],
    ]);
    expect(ran.verdict?.reward?.value).toBe(0.5);
  });

  it("goes on behind a turn whose budget, or world, has ended: the stage is verified all the same", async () => {
    await using episodes = await start();
    const ends = [StopReason.MAX_TURNS, StopReason.ENVIRONMENT_ENDED, StopReason.DONE];
    let turns = 0;
    episodes.agent.script.activate = () => {
      const stopReason = ends[turns] ?? StopReason.DONE;
      turns += 1;
      return turn({ case: "completed", value: { stopReason, usage } });
    };
    expect((await episodes.run()).verdict?.reward?.value).toBe(0.75);
  });

  it("a verification that the next index may cure is repeated in its stage (EPI-E6-013)", async () => {
    await using episodes = await start();
    const { verify } = episodes.environment.script;
    let asked = 0;
    episodes.environment.script.verify = (request, call) => {
      asked += 1;
      if (asked !== 2) return verify?.(request, call) ?? verified({ case: "verdict", value: verdict(0) });
      const failure = { kind: FailureKind.JUDGE_UNREACHABLE, retry: Retry.NEXT_INDEX, reason: "busy" };
      return verified({ case: "failure", value: failure });
    };
    expect((await episodes.run({ verifyAttempts: 2 })).verdict?.reward?.value).toBe(0.75);
    expect(verifications(episodes)).toEqual([
      [0, false],
      [1, false],
      [2, false],
      [3, true],
    ]);
    // The session lives on, so that nothing was kept of what had been handed in.
    expect(episodes.environment.requests("verify").map(({ submission }) => submission === undefined)).toEqual(
      [false, false, false, false],
    );
  });

  it("a stage that cannot be verified is the episode's failure, no reward (EPI-E6-007)", async () => {
    await using episodes = await start();
    const failure = { kind: FailureKind.VERIFIER_FAILED, retry: Retry.NEVER, reason: "broken" };
    episodes.environment.script.verify = () => verified({ case: "failure", value: failure });
    const ran = await episodes.run();
    expect(ran.failure).toMatchObject({ kind: FailureKind.VERIFIER_FAILED, stage: Stage.VERIFY });
    expect(episodes.environment.count("advance")).toBe(0);
    expect(ran.outcome?.cleanUps.every(({ released }) => released)).toBe(true);
  });

  it("a verdict that does not say which stage it is of is a failure, never read as one", async () => {
    await using episodes = await start();
    episodes.environment.script.verify = () => verified({ case: "verdict", value: verdict(1) });
    expect((await episodes.run()).failure).toMatchObject({
      kind: FailureKind.PROTOCOL_VIOLATION,
      stage: Stage.VERIFY,
    });
  });

  it("a stage that begins without a word for the agent is a failure that names it", async () => {
    await using episodes = await start();
    episodes.environment.script.advance = async ({ stageIndex }) => ({
      answerId: "n",
      stage: { stageIndex },
    });
    expect((await episodes.run()).failure).toMatchObject({
      kind: FailureKind.PROTOCOL_VIOLATION,
      stage: Stage.ADVANCE,
      agentId: "agent",
    });
  });

  it("FINISH in a stage: that turn ends, and what is there is verified for good (EPI-STOP-003)", async () => {
    await using episodes = await start();
    let end: () => void = () => {};
    const interrupted = new Promise<void>((resolve) => {
      end = resolve;
    });
    let turns = 0;
    episodes.agent.script.activate = async function* () {
      turns += 1;
      if (turns === 1) return yield* answered();
      yield* turn();
      await interrupted;
      yield create(ActivateResponseSchema, {
        sequence: 2n,
        event: { case: "completed", value: { stopReason: StopReason.INTERRUPTED, usage } },
      });
    };
    episodes.agent.script.interrupt = async () => {
      end();
      return { alreadyEnded: false };
    };
    const running = episodes.run();
    await episodes.agent.arrived("activate", 2);
    await episodes.settle();
    await episodes.stop(StopMode.FINISH);
    const ran = await running;
    expect(ran.verdict?.reward?.value).toBe(0.5);
    expect(verifications(episodes)).toEqual([
      [0, false],
      [1, true],
    ]);
  });
});

group("stages, one session for all (turn_sessions: continue)", () => {
  const goesOn = (episodes: ServedEpisodes): void => {
    episodes.agent.script.describe = async () =>
      described({ service: { instanceId: "a-1", features: [Feature.CONTINUATION] } });
  };

  it("verifies every stage but the last before Close, with the stage's tools in each turn (EPI-DRV-008)", async () => {
    await using episodes = await start();
    goesOn(episodes);
    await episodes.run(continued);
    expect(withoutModel(episodes.order)).toEqual([
      ...["environment.seed", "agent.open"],
      ...["agent.activate", "environment.verify", "environment.advance"],
      ...["agent.activate", "environment.verify", "environment.advance"],
      ...["agent.activate", "agent.close", "environment.verify", "environment.close"],
    ]);
    const turns = episodes.agent.requests("activate");
    expect(turns.map(({ activationIndex }) => activationIndex)).toEqual([0, 1, 2]);
    expect(turns.map(({ tools }) => tools?.tools.map(({ name }) => name))).toEqual([
      undefined,
      ["tool-1"],
      ["tool-2"],
    ]);
  });

  it("refuses an agent that cannot go on, before anything is started (EPI-RUN-017)", async () => {
    await using episodes = await start();
    const { error } = await episodes.run(continued);
    expect(error?.reason).toBe("UNSATISFIED_REQUIREMENT");
    expect(error?.message).toContain("CONTINUATION");
    expect(episodes.environment.count("seed")).toBe(0);
  });
});

it("refuses an environment without stages, before anything is started (EPI-RUN-017)", async () => {
  await using episodes = await ServedEpisodes.start({ drivers: [stages] });
  expect((await episodes.run()).error?.reason).toBe("UNSATISFIED_REQUIREMENT");
  expect(episodes.environment.count("seed")).toBe(0);
});

it("a driver of one turn scores no single stage as if it were the task", async () => {
  await using episodes = await ServedEpisodes.start({ drivers: [singleAgentTurn] });
  script(episodes);
  const { failure, verdict: none } = await episodes.run();
  expect(none).toBeUndefined();
  expect(failure).toMatchObject({ kind: FailureKind.PROTOCOL_VIOLATION, retry: Retry.NEVER });
  expect(failure?.reason).toContain("stages");
});
