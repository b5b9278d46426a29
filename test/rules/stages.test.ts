import { expect, describe as group, it } from "vitest";
import { EnvironmentService, Feature } from "../../gen/index.js";
import { defineEnvironment } from "../../servers/environment/define-environment.js";
import * as fixture from "./fixture.js";

const { advance } = EnvironmentService.method;
const { seed, step, verify, listTools, close, describe } = fixture;

/** Three stages, each with a tool of its own; a stage is solved by calling it. */
const staged = (counts: { advance: number } = { advance: 0 }) =>
  defineEnvironment({
    name: "gated",
    version: "1.0.0",
    reward: { timing: "terminal", minimum: 0, maximum: 3 },
    determinism: "seeded",
    read: () => null,
    seed: () => ({
      state: { stage: 0, solved: [false, false, false] },
      input: "stage 0",
      tools: ["t0"],
      stages: ["first", "second", "third"],
    }),
    tools: Object.fromEntries(
      [0, 1, 2].map((i) => [
        `t${i}`,
        {
          description: "Solves.",
          input: { type: "object" as const },
          run: (_args, { state }: { state: { solved: boolean[] } }) => {
            state.solved[i] = true;
            return { content: "done", terminated: true };
          },
        },
      ]),
    ),
    async advance({ state, stageIndex }) {
      counts.advance += 1;
      state.stage = stageIndex;
      return { input: `stage ${stageIndex}`, tools: [`t${stageIndex}`], budget: { maxTurns: 4 } };
    },
    verify: ({ state, stageIndex, final }) => ({
      reward: state.solved.filter(Boolean).length,
      stageReward: state.solved[stageIndex] ? 1 : 0,
      episodeOver: !state.solved[stageIndex],
      metrics: { final: final ? 1 : 0 },
    }),
  });

const advanceTo = (stageIndex: number, sessionId = "s1") => ({ sessionId, stageIndex });
const solve = (stepIndex: number, name: string) => fixture.stepOf(stepIndex, [fixture.call(name, {})]);
const verdictOf = (stream: {
  messages: readonly { event: { case: string | undefined; value?: unknown } }[];
}) => stream.messages.at(-1)?.event.value;

group("STAGES", () => {
  it("lists the stages, and begins the next one once the current has its verdict (ENV-STAG-001, -002, -006)", async () => {
    await using f = await fixture.serveWorld(staged());
    expect((await f.client.unary(describe, {})).message?.service?.features).toContain(Feature.STAGES);
    const seeded = await f.client.unary(seed, fixture.seedRequest());
    expect(seeded.message?.session?.stages).toMatchObject([
      { stageIndex: 0, name: "first" },
      { stageIndex: 1, name: "second" },
      { stageIndex: 2, name: "third" },
    ]);
    expect((await f.client.unary(advance, advanceTo(1))).error).toMatchObject({
      reason: "OUT_OF_ORDER",
      metadata: { expected_index: "1" },
    });
    await f.client.unary(step, solve(0, "t0"));
    expect((await f.client.unary(step, solve(1, "t0"))).error?.reason).toBe("EPISODE_ENDED");
    const judged = await f.client.stream(verify, fixture.verifyRequest(0, { final: false }));
    expect(verdictOf(judged)).toMatchObject({
      outcome: {
        case: "verdict",
        value: {
          reward: { value: 1 },
          stage: { stageIndex: 0, stageReward: { value: 1 }, episodeOver: false },
        },
      },
    });
    const second = await f.client.unary(advance, advanceTo(1));
    expect(second.message).toMatchObject({
      stage: { stageIndex: 1, name: "second" },
      agents: [{ agentId: "agent", tools: [{ name: "t1" }], toolAccesses: [] }],
      nextAgents: ["agent"],
      agentBudget: { maxTurns: 4 },
    });
    expect(fixture.told(second.message?.agents[0]?.input)).toBe("stage 1");
    const tools = await f.client.unary(listTools, { sessionId: "s1", agentId: "agent" });
    expect(tools.message?.tools.map(({ name }) => name)).toEqual(["t1"]);
    expect((await f.client.unary(step, solve(1, "t0"))).error?.reason).toBe("UNKNOWN_TOOL");
    expect((await f.client.unary(step, solve(1, "t1"))).message?.stepIndex).toBe(1);
  });

  it("is an operation named by its index: joins, replays, conflicts, has no gaps (ENV-STAG-003)", async () => {
    const counts = { advance: 0 };
    await using f = await fixture.serveWorld(staged(counts));
    await f.client.unary(seed, fixture.seedRequest());
    await f.client.unary(step, solve(0, "t0"));
    await f.client.stream(verify, fixture.verifyRequest(0, { final: false }));
    expect((await f.client.unary(advance, advanceTo(2))).error?.metadata).toMatchObject({
      expected_index: "1",
    });
    const all = await Promise.all(Array.from({ length: 20 }, () => f.another().unary(advance, advanceTo(1))));
    expect(new Set(all.map(({ message }) => message?.answerId)).size).toBe(1);
    expect(counts.advance).toBe(1);
    expect((await f.client.unary(advance, { ...advanceTo(1), timeout: { seconds: 9n } })).error?.reason).toBe(
      "OPERATION_CONFLICT",
    );
    expect((await f.client.unary(advance, advanceTo(0))).error?.fields).toEqual(["stage_index"]);
    const second = await f.client.unary(advance, advanceTo(2));
    expect(second.error?.reason).toBe("OUT_OF_ORDER");
  });

  it("ends behind the last stage, and where a verdict says that it is over (ENV-STAG-005, ENV-STAG-007)", async () => {
    await using f = await fixture.serveWorld(staged());
    await f.client.unary(seed, fixture.seedRequest());
    for (const stage of [0, 1, 2]) {
      if (stage > 0) await f.client.unary(advance, advanceTo(stage));
      await f.client.unary(step, solve(stage, `t${stage}`));
      const judged = await f.client.stream(verify, fixture.verifyRequest(stage, { final: false }));
      expect(verdictOf(judged)).toMatchObject({
        outcome: { value: { stage: { episodeOver: stage === 2 } } },
      });
    }
    expect((await f.client.unary(advance, advanceTo(3))).error?.reason).toBe("EPISODE_ENDED");
    const last = await f.client.stream(verify, fixture.verifyRequest(3));
    expect(verdictOf(last)).toMatchObject({
      outcome: { value: { reward: { value: 3 }, metrics: { final: 1 } } },
    });

    await f.client.unary(seed, fixture.seedRequest("s2"));
    await f.client.stream(verify, fixture.verifyRequest(0, { final: false, sessionId: "s2" }));
    expect((await f.client.unary(advance, advanceTo(1, "s2"))).error?.reason).toBe("EPISODE_ENDED");
    expect((await f.client.unary(close, fixture.closeRequest("s2"))).message?.verifications).toBe(1);
  });

  it("is not served where nothing advances", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, fixture.seedRequest());
    expect((await f.client.unary(advance, advanceTo(1))).error?.code).toBe("UNIMPLEMENTED");
  });
});
