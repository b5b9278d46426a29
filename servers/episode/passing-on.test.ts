import { clone, create } from "@bufbuild/protobuf";
import { expect, describe as group, it } from "vitest";
import {
  AgentSessionService,
  CaptureLevel,
  EnvironmentService,
  Feature,
  type Item,
  Placement,
  Role,
  StopReason,
  UsageSchema,
} from "../../gen/index.js";
import { ScriptedPeer } from "../../test/scripted-peer.js";
import { answer, canary, described, environmentScript, say, seeded } from "./fixtures/scripted-cast.js";
import { ServedEpisodes } from "./fixtures/served-episodes.js";

/** Text of everything in a message, bytes as what they spell. */
function textOf(message: unknown): string {
  return JSON.stringify(message, function (this: Record<string, unknown>, key, value: unknown) {
    if (typeof value === "bigint") return String(value);
    const raw = this[key];
    return raw instanceof Uint8Array ? Buffer.from(raw).toString("latin1") : value;
  });
}

/** Changes the session that the environment answers to Seed. */
function seeds(episodes: ServedEpisodes, change: Parameters<typeof seeded>[1]): void {
  episodes.environment.script.seed = async (request) => seeded(request, change);
}

/** Changes what the agent says of itself. */
function declares(episodes: ServedEpisodes, change: Parameters<typeof described>[0]): void {
  episodes.agent.script.describe = async () => described(change);
}

group("What a run asks reaches whom it is for", () => {
  it("the task, env_seed, context and sandbox reach Seed (EPI-RUN-014)", async () => {
    await using episodes = await ServedEpisodes.start();
    await episodes.run({ envSeed: 9223372036854775807n });
    expect(episodes.environment.requests("seed")).toMatchObject([
      {
        seed: 9223372036854775807n,
        context: {
          episodeId: { rolloutId: "r1", attempt: 0 },
          groupId: "g",
          groupIndex: 2,
          labels: { a: "1" },
        },
        source: { case: "task", value: { taskId: { id: "q1" } } },
        wantReference: false,
        sandboxProvider: "",
        timeout: { seconds: 300n },
      },
    ]);
  });

  it("the agent's needs of a box reach Seed (EPI-RUN-018)", async () => {
    await using episodes = await ServedEpisodes.start();
    const requirements = { ports: [8080], egressHosts: ["api.example"] };
    declares(episodes, { sandboxRequirements: requirements });
    episodes.environment.script.describe = async () => ({ placements: [Placement.SHARED_SANDBOX] });
    await episodes.run();
    expect(episodes.environment.requests("seed")[0]?.agentRequirements).toMatchObject([
      { agentId: "agent", requirements },
    ]);
  });

  it("view, binding and budgets reach Open and Activate unchanged (EPI-RUN-004, EPI-RUN-015)", async () => {
    await using episodes = await ServedEpisodes.start();
    const budget = { maxTurns: 4, maxCostUsd: 0.25 };
    await episodes.run({
      agents: [
        {
          ...{ agentId: "agent", agent: "loop", model: "toy", budget },
          ...{ instructions: "Be brief.", optionsJson: '{"x": 1}', sampling: { temperature: 0.1 } },
        },
      ],
    });
    const [open] = episodes.agent.requests("open");
    expect(open).toMatchObject({
      agentId: "agent",
      taskId: { id: "q1" },
      tools: [{ name: "add" }],
      toolAccesses: [{ name: "step", way: { case: "step", value: { bearerToken: "tool-token" } } }],
      modelAccesses: [{ apiKey: "gateway-key" }],
      instructions: "Be brief.",
      optionsJson: '{"x": 1}',
      budget,
      history: [],
    });
    expect(episodes.agent.requests("activate")).toMatchObject([
      {
        sessionId: open?.sessionId,
        activationIndex: 0,
        budget,
        input: [say(Role.USER, "What is 6 x 7?", "u1")],
      },
    ]);
    expect(episodes.model.requests("openGateway")).toMatchObject([
      { agentId: "agent", sampling: { temperature: 0.1 }, capture: CaptureLevel.ITEMS, taskId: { id: "q1" } },
    ]);
  });

  it("the tighter one of the run's budget and the task's holds", async () => {
    await using episodes = await ServedEpisodes.start();
    seeds(episodes, { limits: { agentBudget: { maxTurns: 3, maxToolCalls: 9 } } });
    await episodes.run({
      agents: [{ agentId: "agent", agent: "loop", model: "toy", budget: { maxTurns: 5 } }],
    });
    expect(episodes.agent.requests("open")[0]?.budget).toMatchObject({ maxTurns: 3, maxToolCalls: 9 });
  });

  it("an agent's first observation follows its input", async () => {
    await using episodes = await ServedEpisodes.start();
    const content = [{ kind: { case: "text" as const, value: "a board" } }];
    const input0 = [say(Role.USER, "What is 6 x 7?")];
    const observation = { items: [say(Role.USER, "you stand")], content };
    seeds(episodes, { agents: [{ agentId: "agent", input: input0, observation }] });
    await episodes.run();
    const input = episodes.agent.requests("activate")[0]?.input ?? [];
    const spoken = ({ kind }: Item) =>
      kind.case === "chatMessage" ? kind.value.content[0]?.kind.value : undefined;
    expect(input.map(spoken)).toEqual(["What is 6 x 7?", "you stand", "a board"]);
  });

  it("submission, agent_end and verifier_state reach the final Verify as they were given (EPI-RUN-016)", async () => {
    await using episodes = await ServedEpisodes.start();
    await episodes.run();
    const [verify] = episodes.environment.requests("verify");
    const [seed] = episodes.environment.requests("seed");
    expect(verify).toMatchObject({
      target: {
        case: "session",
        value: {
          sessionId: seed?.sessionId,
          verificationIndex: 0,
          final: true,
        },
      },
      submission: {
        agents: [
          {
            agentId: "agent",
            items: [answer],
            agentEnd: {
              agentId: "agent",
              stopReason: StopReason.DONE,
              activations: 1,
              usage: { modelCalls: 1 },
            },
          },
        ],
      },
      timeout: { seconds: 600n },
    });
    const { target } = verify ?? {};
    const state = target?.case === "session" ? target.value.verifierState : new Uint8Array();
    expect(Buffer.from(state).toString()).toBe("sealed");
  });

  it("every call carries the episode's key, the credential of its binding, and ids that nobody guesses", async () => {
    await using episodes = await ServedEpisodes.start();
    await episodes.run({ context: { episodeId: { rolloutId: "r1", attempt: 2 } } });
    for (const { peer, headers } of episodes.seen) {
      expect(headers.get("touchstone-key")).toBe("r1");
      expect(headers.get("authorization")).toBe(peer === "agent" ? "Bearer agent-credential" : null);
    }
    const ids = [
      episodes.environment.requests("seed")[0]?.sessionId,
      episodes.model.requests("openGateway")[0]?.gatewayId,
      episodes.agent.requests("open")[0]?.sessionId,
    ];
    for (const id of ids) expect(id).toMatch(/^r1-a2\.[ega][A-Za-z0-9_-]{22}$/);
    expect(new Set(ids).size).toBe(3);
  });

  it("what follows goes to the endpoint that a peer answered, and its intent says so (EPI-RUN-019, EPI-E1-004)", async () => {
    await using episodes = await ServedEpisodes.start();
    await using elsewhere = await ScriptedPeer.start(EnvironmentService, environmentScript(), {
      name: "elsewhere",
    });
    await using away = await ScriptedPeer.start(
      AgentSessionService,
      { ...episodes.agent.script },
      { name: "away" },
    );
    seeds(episodes, { endpoint: { url: elsewhere.url } });
    episodes.agent.script.open = async () => ({ endpoint: { url: away.url } });
    const { verdict, events } = await episodes.run();
    expect(verdict?.reward?.value).toBe(0.5);
    expect(
      episodes.environment.seen.filter(({ peer }) => peer === "environment").map(({ rpc }) => rpc),
    ).toEqual(["describe", "seed"]);
    expect(elsewhere.seen.map(({ rpc }) => rpc)).toEqual(["verify", "close"]);
    expect(away.seen.map(({ rpc }) => rpc)).toEqual(["activate", "close"]);
    const intents = events.flatMap(({ event }) => (event.case === "resourceIntent" ? [event.value] : []));
    expect(intents.filter(({ binding }) => binding === "world").map(({ endpoint }) => endpoint?.url)).toEqual(
      [undefined, elsewhere.url],
    );
  });
});

group("Privileged data (R16, EPI-RUN-006, field-case-127)", () => {
  it("reach the environment's Seed only", async () => {
    await using episodes = await ServedEpisodes.start();
    const ran = await episodes.run({ includeItems: true });
    const { records } = await episodes.trajectory();
    const where = episodes.seen
      .filter(({ request }) => textOf(request).includes(canary))
      .map(({ rpc }) => rpc);
    expect(where).toEqual(["seed"]);
    expect(textOf(ran.events)).not.toContain(canary);
    expect(textOf(records)).not.toContain(canary);
  });

  it("of them the reference goes to an agent that declares REFERENCE, where the run asks; the outcome says so", async () => {
    await using episodes = await ServedEpisodes.start();
    expect((await episodes.run({ giveReference: true })).outcome?.referenceGiven).toBe(false);
    expect(episodes.environment.requests("seed")[0]?.wantReference).toBe(false);
    expect(episodes.agent.requests("open")[0]?.reference).toBeUndefined();

    declares(episodes, { service: { features: [Feature.REFERENCE] } });
    // What it said of itself is asked again after a while.
    await episodes.pass(30_000);
    const context = { episodeId: { rolloutId: "r2" } };
    const asked = await episodes.run({ giveReference: true, context });
    expect(asked.outcome?.referenceGiven).toBe(true);
    expect(episodes.agent.requests("open")[1]?.reference).toMatchObject({
      items: [say(Role.ASSISTANT, `ref ${canary}`)],
    });
    expect(textOf(asked.events)).not.toContain(canary);

    const unasked = await episodes.run({ context: { episodeId: { rolloutId: "r3" } } });
    expect(unasked.outcome?.referenceGiven).toBe(false);
    expect(episodes.agent.requests("open")[2]?.reference).toBeUndefined();
  });

  it("keys and tokens are in no event, outcome or trajectory (EPI-GATE-004)", async () => {
    await using episodes = await ServedEpisodes.start();
    const ran = await episodes.run({ includeItems: true });
    const told = textOf(ran.events) + textOf((await episodes.trajectory()).records);
    for (const secret of ["gateway-key", "tool-token", "agent-credential", "127.0.0.1"]) {
      expect(told).not.toContain(secret);
    }
  });
});

group("Echoes weaker than asked are told (EPI-RUN-020, EPI-OUT-005)", () => {
  it("budget, steps, network and what the sandbox does not enforce", async () => {
    await using episodes = await ServedEpisodes.start();
    seeds(episodes, {
      limits: { maxSteps: 50 },
      network: { mode: 3 },
      sandbox: { unenforced: ["resources.disk_bytes"] },
    });
    episodes.agent.script.open = async () => ({ budget: { maxTurns: 9 } });
    const { outcome } = await episodes.run({
      agents: [{ agentId: "agent", agent: "loop", model: "toy", budget: { maxTurns: 4, maxToolCalls: 2 } }],
      source: {
        case: "task",
        value: { taskId: { id: "q1" }, environment: "world", limits: { maxSteps: 10 } },
      },
    });
    expect(outcome?.unenforced).toEqual([
      "environment: limits.max_steps",
      "environment: network",
      "sandbox: resources.disk_bytes",
      "agent agent: budget.max_turns",
      "agent agent: budget.max_tool_calls",
    ]);
  });

  it("nothing where all is held", async () => {
    await using episodes = await ServedEpisodes.start();
    seeds(episodes, { limits: { maxSteps: 10 }, network: { mode: 2, allowedHosts: ["a.example"] } });
    const requirements = { network: { mode: 2, allowedHosts: ["a.example", "b.example"] } };
    const { outcome } = await episodes.run({
      source: {
        case: "task",
        value: { taskId: { id: "q1" }, environment: "world", limits: { maxSteps: 10 }, requirements },
      },
    });
    expect(outcome?.unenforced).toEqual([]);
  });
});

group("An agent's output", () => {
  it("is told item by item exactly when asked (EPI-EVT-003)", async () => {
    await using episodes = await ServedEpisodes.start();
    const without = await episodes.run();
    expect(without.events.filter(({ event }) => event.case === "item")).toEqual([]);
    const asked = await episodes.run({ includeItems: true, context: { episodeId: { rolloutId: "r2" } } });
    const items = asked.events.flatMap(({ event }) => (event.case === "item" ? [event.value] : []));
    expect(items).toMatchObject([answer]);
  });

  it("counts as the agent itself counts it at Close", async () => {
    await using episodes = await ServedEpisodes.start();
    const close = episodes.agent.script.close;
    const counted = create(UsageSchema, { inputTokens: 99n, modelCalls: 3 });
    episodes.agent.script.close = async (request, call) => ({
      ...(await close?.(request, call)),
      usage: clone(UsageSchema, counted),
    });
    const { outcome } = await episodes.run();
    expect(outcome?.agentEnds[0]?.usage).toEqual(counted);
  });
});
