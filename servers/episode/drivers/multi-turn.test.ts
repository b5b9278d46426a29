import { Code } from "@connectrpc/connect";
import { expect, describe as group, it } from "vitest";
import {
  FailureKind,
  OnAgentFailure,
  ResourceKind,
  Retry,
  Stage,
  StopMode,
  StopReason,
} from "../../../gen/index.js";
import { bareStatus } from "../../../test/scripted-peer.js";
import { Refusal } from "../../runtime/refusal.js";
import { receipt, verdict, verified } from "../fixtures/scripted-cast.js";
import { script, type Talk, talkRun } from "../fixtures/scripted-talk.js";
import { type RunInit, ServedEpisodes } from "../fixtures/served-episodes.js";
import { multiTurn } from "./multi-turn.js";

const start = () => ServedEpisodes.start({ drivers: [multiTurn] });

/** A user and an assistant take turns; what one says the other is shown, until the user has said goodbye. */
const support: Talk = {
  agents: ["assistant", "user"],
  first: ["user"],
  step({ user, assistant }) {
    if (user === "goodbye") return { next: [] };
    return user === undefined
      ? { next: ["user"], shown: { user: assistant ?? "" } }
      : { next: ["assistant"], shown: { assistant: user } };
  },
  turn: (agentId, _shown, index) => ({
    text: agentId === "assistant" ? `answer ${index}` : (["hello", "and then?", "goodbye"][index] ?? "?"),
  }),
};

async function play(talk: Talk, options: object = {}, change: RunInit = {}) {
  const episodes = await start();
  script(episodes, talk);
  return { episodes, ran: await episodes.run({ ...talkRun(episodes, talk, options), ...change }) };
}

/** What was said to an agent, activation by activation. */
function heardBy({ agent }: ServedEpisodes, agentId: string): string[][] {
  const { sessionId } = agent.requests("open").find((open) => open.agentId === agentId) ?? {};
  return agent
    .requests("activate")
    .filter((request) => request.sessionId === sessionId)
    .map(({ input }) =>
      input.map(({ kind }) => {
        const [block] = kind.case === "chatMessage" ? kind.value.content : [];
        return block?.kind.case === "text" ? block.kind.value : "";
      }),
    );
}

group("multi_turn", () => {
  it("activates whom next_agents names and steps what was said, until nobody is next (EPI-DRV-001)", async () => {
    const { episodes, ran } = await play(support);
    await using _ = episodes;
    expect(ran.verdict?.reward?.value).toBe(0.5);
    const steps = episodes.environment.requests("step");
    expect(steps.map(({ actions: [action] }) => action?.agentId)).toEqual([
      ...["user", "assistant", "user", "assistant", "user"],
    ]);
    // Agents' tools take steps too, so that the driver's own have names, each another one.
    const names = steps.map(({ name }) => (name.case === "actionId" ? name.value : undefined));
    expect(new Set(names).size).toBe(5);
    expect(names).not.toContain(undefined);
  });

  it("gives each its own session, and what it was shown since its last turn (EPI-DRV-004, EPI-OUT-004, ALL-PRIV-005)", async () => {
    const { episodes, ran } = await play(support);
    await using _ = episodes;
    expect(heardBy(episodes, "user")).toEqual([["you are user"], ["answer 0"], ["answer 1"]]);
    expect(heardBy(episodes, "assistant")).toEqual([["you are assistant", "hello"], ["and then?"]]);
    const sessions = episodes.agent.requests("open").map(({ sessionId }) => sessionId);
    expect(new Set(sessions).size).toBe(2);
    for (const sessionId of sessions) {
      const indexes = episodes.agent
        .requests("activate")
        .filter((request) => request.sessionId === sessionId)
        .map(({ activationIndex }) => activationIndex);
      expect(indexes).toEqual(indexes.map((_index, i) => i));
    }
    const { submission } = episodes.environment.requests("verify")[0] ?? {};
    expect(submission?.agents.map(({ agentId, items }) => [agentId, items.length])).toEqual([
      ["assistant", 2],
      ["user", 3],
    ]);
    expect(ran.outcome?.agentEnds).toMatchObject([
      { agentId: "assistant", stopReason: StopReason.DONE, activations: 2 },
      { agentId: "user", stopReason: StopReason.DONE, activations: 3 },
    ]);
  });

  it("closes all agents before the final Verify, the last opened first (EPI-DRV-011)", async () => {
    const { episodes } = await play(support);
    await using _ = episodes;
    const [assistant, user] = episodes.agent.requests("open").map(({ sessionId }) => sessionId);
    expect(episodes.agent.requests("close").map(({ sessionId }) => sessionId)).toEqual([user, assistant]);
    expect(episodes.order.indexOf("environment.verify")).toBeGreaterThan(
      episodes.order.lastIndexOf("agent.close"),
    );
  });

  it("tells each step once with its rewards, where the environment has no feed of them (EPI-EVT-002)", async () => {
    const { episodes, ran } = await play(support);
    await using _ = episodes;
    const told = ran.events.flatMap(({ event }) => (event.case === "step" ? [event.value] : []));
    expect(told.map(({ response }) => response?.stepIndex)).toEqual([0, 1, 2, 3, 4]);
    expect(told[1]?.response?.outcomes[0]).toMatchObject({ agentId: "user", reward: { value: 1 } });
    const { records } = await episodes.trajectory();
    expect(records.filter(({ record }) => record.case === "step")).toHaveLength(5);
    expect(ran.outcome?.trajectory?.missingReason).toBe("");
  });

  it("gives several who are next their turns at the same time, and steps them together", async () => {
    const turns = new Set<string>();
    let all: () => void = () => {};
    const both = new Promise<void>((resolve) => {
      all = resolve;
    });
    const talk: Talk = {
      agents: ["a", "b"],
      first: ["a", "b"],
      simultaneous: true,
      step: () => ({ next: [] }),
      async turn(agentId) {
        turns.add(agentId);
        // One that came after the other would wait for ever.
        if (turns.size === 2) all();
        await both;
        return { text: agentId };
      },
    };
    const { episodes, ran } = await play(talk);
    await using _ = episodes;
    expect(ran.verdict).toBeDefined();
    expect(episodes.environment.requests("step").map(({ actions }) => actions.length)).toEqual([2]);
  });

  it("counts the time of turns at the same time once (EPI-RUN-007)", async () => {
    const episodes = await start();
    await using _ = episodes;
    let go: () => void = () => {};
    const gone = new Promise<void>((resolve) => {
      go = resolve;
    });
    const talk: Talk = {
      agents: ["a", "b"],
      first: ["a", "b"],
      step: () => ({ next: [] }),
      async turn(agentId) {
        await gone;
        return { text: agentId };
      },
    };
    script(episodes, talk);
    const running = episodes.run(talkRun(episodes, talk));
    await episodes.agent.arrived("activate", 2);
    await episodes.pass(3000);
    go();
    expect((await running).outcome?.timings?.activate).toMatchObject({ seconds: 3n, nanos: 0 });
  });

  it("lets the world take a step that ends it while an agent acts by its tools (EPISODE_ENDED)", async () => {
    const { episodes, ran } = await play({
      ...support,
      step() {
        throw new Refusal("EPISODE_ENDED", "a tool has ended it");
      },
    });
    await using _ = episodes;
    expect(ran.verdict).toBeDefined();
    expect(episodes.environment.count("verify")).toBe(1);
  });

  for (const stopReason of [StopReason.MAX_TOKENS, StopReason.ENVIRONMENT_ENDED, StopReason.REFUSAL]) {
    it(`verifies what is there where a turn ends with ${StopReason[stopReason]} (EPI-E5-002)`, async () => {
      const { episodes, ran } = await play({
        ...support,
        turn: (agentId, shown, index) =>
          agentId === "assistant" ? { text: "half an", stopReason } : support.turn(agentId, shown, index),
      });
      await using _ = episodes;
      expect(ran.verdict).toBeDefined();
      // What was cut is no move.
      expect(episodes.environment.count("step")).toBe(1);
      expect(ran.outcome?.agentEnds[0]).toMatchObject({ agentId: "assistant", stopReason });
      const { submission } = episodes.environment.requests("verify")[0] ?? {};
      expect(submission?.agents[0]?.items).toHaveLength(1);
    });
  }

  it("of several the whole turns still count, unless all had to move at once", async () => {
    const talk = (simultaneous: boolean): Talk => ({
      agents: ["a", "b"],
      first: ["a", "b"],
      simultaneous,
      step: () => ({ next: ["a", "b"] }),
      turn: (agentId) => ({
        text: agentId,
        ...(agentId === "b" ? { stopReason: StopReason.MAX_TURNS } : {}),
      }),
    });
    for (const simultaneous of [true, false]) {
      const { episodes, ran } = await play(talk(simultaneous));
      await using _ = episodes;
      expect(ran.verdict).toBeDefined();
      expect(
        episodes.environment.requests("step").map(({ actions }) => actions.map(({ agentId }) => agentId)),
      ).toEqual(simultaneous ? [] : [["a"]]);
    }
  });

  it("ends after max_rounds", async () => {
    const { episodes, ran } = await play(support, { max_rounds: 2 });
    await using _ = episodes;
    expect(ran.verdict).toBeDefined();
    expect(episodes.environment.count("step")).toBe(2);
  });

  it("gives each turn what the task's budget for all of them has left", async () => {
    // Each scripted turn has 1 model call and 15 tokens.
    const { episodes, ran } = await play({ ...support, budget: { maxTurns: 2, maxTotalTokens: 100n } });
    await using _ = episodes;
    const { verdict: scored, outcome } = ran;
    expect(scored).toBeDefined();
    const [user] = [episodes.agent.requests("open").find(({ agentId }) => agentId === "user")];
    const budgets = episodes.agent
      .requests("activate")
      .filter(({ sessionId }) => sessionId === user?.sessionId)
      .map(({ budget }) => [budget?.maxTurns, budget?.maxTotalTokens]);
    expect(budgets).toEqual([
      [2, 100n],
      [1, 85n],
    ]);
    // Its third turn has nothing left: the talk ends, and is verified.
    expect(outcome?.agentEnds[1]).toMatchObject({
      agentId: "user",
      stopReason: StopReason.MAX_TURNS,
      activations: 2,
    });
  });

  it("Stop FINISH ends the turn and the talk, and verifies (EPI-STOP-003)", async () => {
    const episodes = await start();
    await using _ = episodes;
    let interrupted: () => void = () => {};
    const interrupt = new Promise<void>((resolve) => {
      interrupted = resolve;
    });
    script(episodes, {
      ...support,
      async turn(agentId, shown, index) {
        if (agentId === "user") return await support.turn(agentId, shown, index);
        await interrupt;
        return { text: "half an", stopReason: StopReason.INTERRUPTED };
      },
    });
    // The scripted turns tell nothing before their end; the driver waits for a first event.
    const { activate } = episodes.agent.script;
    episodes.agent.script.activate = async function* (request, call) {
      yield { sequence: 1n, event: { case: "accepted", value: {} } };
      if (activate === undefined) return;
      for await (const event of activate(request, call)) if (event.sequence !== 1n) yield event;
    };
    episodes.agent.script.interrupt = async () => {
      interrupted();
      return { alreadyEnded: false };
    };
    const running = episodes.run(talkRun(episodes, support));
    await episodes.agent.arrived("activate", 2);
    await episodes.stop(StopMode.FINISH);
    const { verdict: scored, outcome } = await running;
    expect(scored).toBeDefined();
    expect(outcome?.agentEnds[0]).toMatchObject({ stopReason: StopReason.INTERRUPTED });
    expect(episodes.environment.count("step")).toBe(1);
  });
});

group("Each agent of multi_turn is bound by itself (EPI-RUN-021)", () => {
  it("an agent that the session has and the run does not bind", async () => {
    const episodes = await start();
    await using _ = episodes;
    script(episodes, support);
    const agents = [{ agentId: "assistant", agent: "loop", model: "toy" }];
    expect((await episodes.run({ ...talkRun(episodes, support), agents })).failure).toMatchObject({
      kind: FailureKind.PROTOCOL_VIOLATION,
      stage: Stage.OPEN,
      agentId: "user",
    });
  });

  it("one that the task names is refused before anything is started (EPI-RUN-017)", async () => {
    const episodes = await start();
    await using _ = episodes;
    script(episodes, support);
    const value = {
      taskId: { id: "q1" },
      environment: "world",
      requirements: { agents: ["assistant", "user", "judge"] },
    };
    const source = { case: "task", value } as const;
    const { error } = await episodes.run({ ...talkRun(episodes, support), source });
    expect(error).toMatchObject({ reason: "UNSATISFIED_REQUIREMENT", fields: ["agents"] });
    expect(error?.message).toContain("judge");
    expect(episodes.environment.count("seed")).toBe(0);
  });

  it("an environment without STEP is refused", async () => {
    const episodes = await start();
    await using _ = episodes;
    const { error } = await episodes.run();
    expect(error).toMatchObject({ reason: "UNSATISFIED_REQUIREMENT", fields: ["environment"] });
    expect(error?.message).toContain("STEP");
  });

  it("every agent has its gateway; all are released (EPI-GATE-001)", async () => {
    const { episodes, ran } = await play(support);
    await using _ = episodes;
    expect(episodes.model.requests("openGateway").map(({ agentId }) => agentId)).toEqual(support.agents);
    const kinds = ran.outcome?.cleanUps.map(({ resource }) => ResourceKind[resource?.kind ?? 0]);
    expect(kinds).toEqual([
      ...["AGENT_SESSION", "GATEWAY", "AGENT_SESSION", "GATEWAY", "ENVIRONMENT_SESSION"],
    ]);
    expect(ran.outcome?.cleanUps.every(({ released }) => released)).toBe(true);
  });

  it("an agent that had no turn need not have called its model", async () => {
    const talk: Talk = { ...support, step: () => ({ next: [] }) };
    const episodes = await start();
    await using _ = episodes;
    script(episodes, talk);
    episodes.model.script.closeGateway = async ({ gatewayId }) => {
      const opened = episodes.model.requests("openGateway").find((open) => open.gatewayId === gatewayId);
      return { receipt, calls: opened?.agentId === "user" ? 1n : 0n };
    };
    expect((await episodes.run(talkRun(episodes, talk))).verdict).toBeDefined();
  });
});

group("Whose failure it is", () => {
  const broken = { kind: FailureKind.HARNESS_CRASHED, retry: Retry.NEVER, reason: "it broke" };
  const breaks = (who: string): Talk => ({
    ...support,
    turn: (agentId, shown, index) =>
      agentId === who ? { failure: broken } : support.turn(agentId, shown, index),
  });
  const verify = { onAgentFailure: OnAgentFailure.VERIFY };

  it("the assistant's work is verified where the run says so (EPI-AGF-001)", async () => {
    const { episodes, ran } = await play(breaks("assistant"), {}, verify);
    await using _ = episodes;
    expect(ran.verdict).toBeDefined();
    expect(ran.outcome?.agentEnds[0]?.failure).toMatchObject(broken);
  });

  it("a part of the world that fails is the episode's failure, whatever the run says, and no score", async () => {
    const { episodes, ran } = await play(breaks("user"), { world_agents: ["user"] }, verify);
    await using _ = episodes;
    expect(ran.failure).toMatchObject({ ...broken, agentId: "user", stage: Stage.ACTIVATE });
    expect(episodes.environment.count("verify")).toBe(0);
    expect(ran.outcome?.cleanUps.every(({ released }) => released)).toBe(true);
  });

  it("a part of the world that cannot go on is one too", async () => {
    const { episodes, ran } = await play(
      {
        ...support,
        turn: (agentId, shown, index) =>
          agentId === "user" && index === 1
            ? { text: "I", stopReason: StopReason.CONTEXT_LENGTH }
            : support.turn(agentId, shown, index),
      },
      { world_agents: ["user"] },
    );
    await using _ = episodes;
    expect(ran.failure).toMatchObject({
      kind: FailureKind.CUSTOM,
      customKind: "touchstone:world_agent_stopped",
      agentId: "user",
      retry: Retry.NEW_ATTEMPT,
    });
    expect(ran.failure?.reason).toContain("CONTEXT_LENGTH");
  });

  it("a part of the world that the session does not have is told, not scored", async () => {
    const { episodes, ran } = await play(support, { world_agents: ["usr"] });
    await using _ = episodes;
    expect(ran.failure).toMatchObject({ kind: FailureKind.PROTOCOL_VIOLATION, retry: Retry.NEVER });
    expect(ran.failure?.reason).toContain('found "usr"');
  });

  it("of turns at the same time the first failure ends the others, who are not blamed", async () => {
    const episodes = await start();
    await using _ = episodes;
    let left: () => void = () => {};
    const aLeft = new Promise<void>((resolve) => {
      left = resolve;
    });
    const talk: Talk = {
      agents: ["a", "b"],
      first: ["a", "b"],
      step: () => ({ next: [] }),
      turn: () => ({ failure: broken }),
    };
    script(episodes, talk);
    const { activate } = episodes.agent.script;
    episodes.agent.script.activate = async function* (request, call) {
      const [a] = episodes.agent.requests("open");
      if (request.sessionId === a?.sessionId) {
        yield { sequence: 1n, event: { case: "accepted", value: {} } };
        call.signal.addEventListener("abort", left, { once: true });
        await aLeft;
        return;
      }
      if (activate !== undefined) yield* activate(request, call);
    };
    const { failure, outcome } = await episodes.run(talkRun(episodes, talk));
    expect(failure).toMatchObject({ ...broken, agentId: "b" });
    expect(outcome?.agentEnds).toMatchObject([
      { agentId: "a", stopReason: StopReason.INTERRUPTED },
      { agentId: "b" },
    ]);
    expect(outcome?.agentEnds[0]?.failure).toBeUndefined();
  });

  it("a step that is lost is worth another attempt, and asked again under its own name (EPI-E6-003)", async () => {
    const { episodes, ran } = await play({
      ...support,
      step() {
        throw bareStatus(Code.Unavailable);
      },
    });
    await using _ = episodes;
    expect(ran.failure).toMatchObject({
      kind: FailureKind.UNAVAILABLE,
      retry: Retry.NEW_ATTEMPT,
      stage: Stage.STEP,
    });
    const names = episodes.environment.requests("step").map(({ name }) => name.value);
    expect(names.length).toBeGreaterThan(1);
    expect(new Set(names).size).toBe(1);
  });

  it("an environment that names a stranger next broke the contract", async () => {
    const { episodes, ran } = await play({ ...support, step: () => ({ next: ["stranger"] }) });
    await using _ = episodes;
    expect(ran.failure).toMatchObject({ kind: FailureKind.PROTOCOL_VIOLATION, stage: Stage.STEP });
  });

  it("each agent's reward of the verdict is passed on", async () => {
    const episodes = await start();
    await using _ = episodes;
    script(episodes, support);
    episodes.environment.script.verify = () =>
      verified({
        case: "verdict",
        value: { ...verdict(0.5), agentRewards: { assistant: { value: 0 }, user: { value: 1 } } },
      });
    const { verdict: scored } = await episodes.run(talkRun(episodes, support));
    expect(scored?.agentRewards).toMatchObject({ assistant: { value: 0 }, user: { value: 1 } });
  });
});

group("Options of a driver", () => {
  it("that it does not know are refused, and nothing starts (EPI-E8-001)", async () => {
    const episodes = await start();
    await using _ = episodes;
    for (const optionsJson of ['{"max_round":1}', '{"max_rounds":0}', "[1]", "{"]) {
      const { error } = await episodes.run({ optionsJson });
      expect(error).toMatchObject({ code: "INVALID_ARGUMENT", reason: "INVALID_FIELD" });
      expect(error?.fields[0]).toMatch(/^options_json/);
    }
    expect(episodes.seen).toEqual([]);
  });

  it("that the server has hold where the run says nothing", async () => {
    await using episodes = await ServedEpisodes.start({
      drivers: [multiTurn],
      driverOptions: { max_rounds: 1 },
    });
    script(episodes, support);
    await episodes.run(talkRun(episodes, support));
    expect(episodes.environment.count("step")).toBe(1);
  });

  it("that do not fit are refused at start, and so are those of a driver that is not served", async () => {
    const options = (driverOptions: Record<string, unknown>, more = false) =>
      ServedEpisodes.start({
        drivers: more ? [multiTurn, { ...multiTurn, name: "other" }] : [multiTurn],
        driverOptions,
      });
    await expect(options({ max_round: 1 })).rejects.toThrow(/max_round/);
    await expect(options({ max_rounds: 1 }, true)).rejects.toThrow(/under its name \(multi_turn, other\)/);
    await using _ = await options({ multi_turn: { max_rounds: 1 } }, true);
  });
});
