import { expect, describe as group, it } from "vitest";
import { z } from "zod";
import { Feature, StopReason } from "../../gen/index.js";
import { defineEnvironment } from "../../servers/environment/define-environment.js";
import { ToolError } from "../../servers/environment/definition/tool.js";
import { textOf } from "../../servers/runtime/items.js";
import * as fixture from "./fixture.js";

const { seed, step, verify, listTools, describe, call, say, stepOf } = fixture;

const saidBy = (action: { readonly kind: { readonly case?: unknown; readonly value?: unknown } }): string => {
  const { items } = action.kind.value as {
    items: { kind: { value: { content: Parameters<typeof textOf>[0] } } }[];
  };
  return textOf(items[0]?.kind.value.content ?? []);
};

/** Two players take turns; `resign` ends the part of the one that says it; `end` ends the game. */
const duel = (simultaneousTurns = false) =>
  defineEnvironment({
    name: "gated",
    version: "1.0.0",
    reward: { timing: "step", minimum: -10, maximum: 10 },
    determinism: "seeded",
    agents: ["white", "black"],
    simultaneousTurns,
    read: () => null,
    seed: () => ({
      state: { turns: 0 },
      agents: {
        white: { input: "You are white.", observation: { items: [] }, tools: ["hit"] },
        black: { input: "You are black." },
      },
    }),
    tools: {
      hit: {
        description: "Hits the other one.",
        input: z.object({ force: z.number() }),
        run({ force }, { agentId }) {
          if (force > 5) throw new ToolError("too hard");
          const other = agentId === "white" ? "black" : "white";
          return {
            content: "hit",
            reward: force,
            next: [other],
            outcomes: { [other]: { observation: `${agentId} hit you`, reward: -force } },
          };
        },
      },
      hide: { description: "Hides.", input: z.object({}), agents: ["black"], run: () => "hidden" },
    },
    step({ state, actions }) {
      state.turns += 1;
      const said = Object.fromEntries(actions.map((action) => [action.agentId, saidBy(action)]));
      const outcomes = Object.fromEntries(
        Object.entries(said).map(([agentId, text]) => [
          agentId,
          { observation: `you said ${text}`, terminated: text === "resign", info: { secret: text } },
        ]),
      );
      const over = Object.values(said).includes("end");
      if (actions.length > 1) return { outcomes, episodeTerminated: over };
      const [actor = ""] = Object.keys(said);
      const other = actor === "white" ? "black" : "white";
      return { outcomes, episodeTerminated: over, ...(said[actor] === "stay" ? {} : { next: [other] }) };
    },
    verify: ({ agents, answer, items, stepRewards }) => ({
      reward: 0,
      agentRewards: Object.fromEntries(
        [...agents].map(([agentId, work]) => [agentId, work.answer === "won" ? 1 : work.stepRewards]),
      ),
      diagnostics: {
        answer,
        items: items.length,
        stepRewards,
        ends: [...agents.values()].map(({ end }) => end?.stopReason ?? null),
      },
    }),
  });

group("several agents", () => {
  it("gives each agent its own view: input, tools and the way to them (ENV-MULT-001)", async () => {
    await using f = await fixture.serveWorld(duel());
    const described = await f.client.unary(describe, {});
    expect(described.message?.service?.features).toContain(Feature.MULTI_AGENT);
    const { message } = await f.client.unary(seed, fixture.seedRequest());
    const views = message?.session?.agents.map(({ agentId, input, tools, toolAccesses }) => ({
      agentId,
      said: input.map((item) => (item.kind.case === "chatMessage" ? textOf(item.kind.value.content) : "")),
      tools: tools.map(({ name }) => name),
      for: toolAccesses.map(({ way }) => (way.case === "step" ? way.value.agentId : "")),
    }));
    expect(views).toEqual([
      { agentId: "white", said: ["You are white."], tools: ["hit"], for: ["white"] },
      { agentId: "black", said: ["You are black."], tools: ["hit", "hide"], for: ["black"] },
    ]);
    expect(message?.session?.nextAgents).toEqual(["white"]);
    const listed = await f.client.unary(listTools, { sessionId: "s1", agentId: "black" });
    expect(listed.message?.tools.map(({ name }) => name)).toEqual(["hit", "hide"]);
    const nobody = await f.client.unary(listTools, { sessionId: "s1", agentId: "agent" });
    expect(nobody.error).toMatchObject({ reason: "INVALID_FIELD", fields: ["agent_id"] });
  });

  it("says whose turn it is and refuses everybody else, changing nothing (ENV-MULT-002, ENV-MULT-003)", async () => {
    await using f = await fixture.serveWorld(duel());
    await f.client.unary(seed, fixture.seedRequest());
    const early = await f.client.unary(step, stepOf(0, [say("hello", "black")]));
    expect(early.error).toMatchObject({
      code: "FAILED_PRECONDITION",
      reason: "OUT_OF_TURN",
      fields: ["actions[0].agent_id"],
    });
    const both = await f.client.unary(step, stepOf(0, [say("x", "white"), say("x", "black")]));
    expect(both.error).toMatchObject({ reason: "OUT_OF_TURN", fields: ["actions[1].agent_id"] });
    const nobody = await f.client.unary(step, stepOf(0, [say("x", "agent")]));
    expect(nobody.error).toMatchObject({ reason: "INVALID_FIELD", fields: ["actions[0].agent_id"] });
    const twice = await f.client.unary(step, stepOf(0, [say("x", "white"), say("y", "white")]));
    expect(twice.error).toMatchObject({ reason: "INVALID_FIELD", fields: ["actions[1].agent_id"] });
    const gap = await f.client.unary(step, stepOf(1, [say("x", "black")]));
    expect(gap.error).toMatchObject({ reason: "OUT_OF_ORDER", metadata: { expected_index: "0" } });
    const first = await f.client.unary(step, stepOf(0, [say("stay", "white")]));
    expect(first.message?.nextAgents).toEqual(["white"]);
    const second = await f.client.unary(step, stepOf(1, [say("hello", "white")]));
    expect(second.message?.nextAgents).toEqual(["black"]);
  });

  it("gives each agent its own reward and observation, by a tool too (ENV-MULT-004)", async () => {
    await using f = await fixture.serveWorld(duel());
    await f.client.unary(seed, fixture.seedRequest());
    const { message } = await f.client.unary(step, stepOf(0, [call("hit", { force: 2 }, "white")]));
    expect(message?.outcomes).toMatchObject([
      { agentId: "white", reward: { value: 2 }, observation: { items: [{ kind: { case: "toolResult" } }] } },
      {
        agentId: "black",
        reward: { value: -2 },
        observation: { items: [{ kind: { case: "chatMessage" } }] },
      },
    ]);
    expect(message?.nextAgents).toEqual(["black"]);
    const refused = await f.client.unary(step, stepOf(1, [call("hit", { force: 9 }, "black")]));
    expect(refused.message).toMatchObject({ outcomes: [{ agentId: "black" }], nextAgents: ["black"] });
    await f.client.unary(step, stepOf(2, [call("hit", { force: 1 }, "black")]));
    expect((await f.client.unary(step, stepOf(3, [call("hide", {}, "white")]))).error?.reason).toBe(
      "UNKNOWN_TOOL",
    );
    const judged = await f.client.stream(verify, { ...fixture.verifyRequest(0), submission: {} });
    expect(judged.messages.at(-1)?.event.value).toMatchObject({
      outcome: { value: { agentRewards: { white: { value: 1 }, black: { value: -1 } } } },
    });
  });

  it("ends one agent's part without the session, and the session with the last (ENV-MULT-006)", async () => {
    await using f = await fixture.serveWorld(duel());
    await f.client.unary(seed, fixture.seedRequest());
    const first = await f.client.unary(step, stepOf(0, [say("resign", "white")]));
    expect(first.message).toMatchObject({
      terminated: false,
      truncated: false,
      nextAgents: ["black"],
      outcomes: [{ agentId: "white", terminated: true, truncated: false }],
    });
    const gone = await f.client.unary(step, stepOf(1, [say("x", "white")]));
    expect(gone.error?.reason).toBe("OUT_OF_TURN");
    await f.client.unary(step, stepOf(1, [say("stay", "black")]));
    const last = await f.client.unary(step, stepOf(2, [say("resign", "black")]));
    expect(last.message).toMatchObject({ terminated: true, truncated: false, nextAgents: [] });
    expect((await f.client.unary(step, stepOf(3, [say("x", "black")]))).error?.reason).toBe("EPISODE_ENDED");
  });

  it("ends everybody's part with the episode, by its own rules or by a limit", async () => {
    await using f = await fixture.serveWorld(duel());
    await f.client.unary(seed, fixture.seedRequest());
    const over = await f.client.unary(step, stepOf(0, [say("end", "white")]));
    expect(over.message).toMatchObject({
      terminated: true,
      nextAgents: [],
      outcomes: [{ agentId: "white", terminated: true }],
    });
    await f.client.unary(
      seed,
      fixture.seedRequest("s2", { limits: { $typeName: "touchstone.v1.TaskLimits", maxSteps: 1 } }),
    );
    const cut = await f.client.unary(step, stepOf(0, [say("x", "white")], "s2"));
    expect(cut.message).toMatchObject({
      terminated: false,
      truncated: true,
      nextAgents: [],
      outcomes: [{ agentId: "white", terminated: false, truncated: true }],
    });
  });

  it("takes all actions in one step where turns are simultaneous, and no part of them (ENV-MULT-005)", async () => {
    await using f = await fixture.serveWorld(duel(true));
    const { message } = await f.client.unary(seed, fixture.seedRequest());
    expect(message?.session).toMatchObject({
      nextAgents: ["white", "black"],
      declarations: { simultaneousTurns: true },
    });
    const part = await f.client.unary(step, stepOf(0, [say("x", "black")]));
    expect(part.error).toMatchObject({ reason: "OUT_OF_TURN", fields: ["actions"] });
    const all = await f.client.unary(
      step,
      stepOf(0, [say("x", "black"), call("hit", { force: 1 }, "white")]),
    );
    expect(all.error).toBeUndefined();
    expect(all.message?.outcomes.map(({ agentId, reward }) => [agentId, reward?.value])).toEqual([
      ["white", 1],
      ["black", -1],
    ]);
  });

  it("takes any of those who are next where turns are not simultaneous", async () => {
    const open = defineEnvironment({
      ...duel(),
      seed: () => ({ state: { turns: 0 }, next: ["white", "black"] }),
      step: ({ actions }) => ({
        outcomes: Object.fromEntries(actions.map(({ agentId }) => [agentId, { reward: 1 }])),
      }),
    });
    await using f = await fixture.serveWorld(open);
    await f.client.unary(seed, fixture.seedRequest());
    const one = await f.client.unary(step, stepOf(0, [say("x", "black")]));
    expect(one.message).toMatchObject({ outcomes: [{ agentId: "black" }], nextAgents: ["white", "black"] });
    const both = await f.client.unary(step, stepOf(1, [say("x", "black"), say("x", "white")]));
    expect(both.message?.outcomes.map(({ agentId }) => agentId)).toEqual(["black", "white"]);
  });

  it("verifies the work of each agent as its own (ENV-MULT-007)", async () => {
    await using f = await fixture.serveWorld(duel());
    await f.client.unary(seed, fixture.seedRequest());
    const handedIn = (agentId: string, text: string) => {
      const [entry] = fixture.submission(text).agents ?? [];
      return { ...entry, agentId, agentEnd: { stopReason: StopReason.MAX_TURNS } };
    };
    const request = (index: number, agents: object[]) => ({
      ...fixture.verifyRequest(index, { final: false }),
      submission: { agents },
    });
    const judge = async (index: number, agents: object[]) =>
      (await f.client.stream(verify, request(index, agents))).messages.at(-1)?.event.value;
    expect(await judge(0, [handedIn("white", "won"), handedIn("black", "lost")])).toMatchObject({
      outcome: { value: { agentRewards: { white: { value: 1 }, black: { value: 0 } } } },
    });
    const swapped = await judge(1, [handedIn("black", "won")]);
    expect(swapped).toMatchObject({
      outcome: { value: { agentRewards: { white: { value: 0 }, black: { value: 1 } } } },
    });
    const { outcome } = swapped as { outcome: { value: { diagnosticsJson: string } } };
    expect(JSON.parse(outcome.value.diagnosticsJson)).toEqual({
      answer: "",
      items: 0,
      stepRewards: 0,
      ends: [null, StopReason.MAX_TURNS],
    });
    const twice = await f.client.stream(verify, request(2, [handedIn("white", "a"), handedIn("white", "b")]));
    expect(twice.error).toMatchObject({
      reason: "INVALID_FIELD",
      fields: ["submission.agents[1].agent_id"],
    });
    const stranger = await f.client.stream(verify, request(2, [handedIn("agent", "a")]));
    expect(stranger.error).toMatchObject({
      reason: "INVALID_FIELD",
      fields: ["submission.agents[0].agent_id"],
    });
  });
});
