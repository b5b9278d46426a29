import { expect, describe as group, it } from "vitest";
import { CaptureLevel, Feature, ModelDialect, Placement } from "../../gen/index.js";
import { described } from "./fixtures/scripted-cast.js";
import { method, type RunInit, ServedEpisodes } from "./fixtures/served-episodes.js";

const agents = (change: object = {}) => [{ agentId: "agent", agent: "loop", model: "toy", ...change }];

group("Describe", () => {
  it("names drivers and bindings, no addresses (EPI-DESC-001)", async () => {
    await using episodes = await ServedEpisodes.start({
      limits: { maxSessions: 4 },
      timeouts: { queueMs: 60_000 },
    });
    const { message } = await episodes.client.unary(method.describe, {});
    expect(message).toMatchObject({
      drivers: ["single_agent_turn"],
      bindings: { environments: ["world"], agents: ["loop"], models: ["toy"], sandboxes: ["boxes"] },
      service: {
        implementation: { name: "touchstone-episode", version: "1.2.3" },
        limits: { maxSessions: 4 },
      },
      defaultTimeouts: { queue: { seconds: 60n } },
    });
    const text = JSON.stringify(message, (_key, value) =>
      typeof value === "bigint" ? String(value) : value,
    );
    expect(text).not.toMatch(/127\.0\.0\.1|http:/);
  });
});

group("Names that are not configured are refused with their path, and nothing starts (EPI-RUN-012)", () => {
  const unknown: [change: RunInit, field: string][] = [
    [{ driver: "nope" }, "driver"],
    [{ environment: "nope" }, "environment"],
    [{ sandbox: "nope" }, "sandbox"],
    [{ agents: agents({ agent: "nope" }) }, "agents[0].agent"],
    [{ agents: agents({ model: "nope" }) }, "agents[0].model"],
  ];
  for (const [change, field] of unknown) {
    it(field, async () => {
      await using episodes = await ServedEpisodes.start();
      const { error } = await episodes.run(change);
      expect(error).toMatchObject({ code: "NOT_FOUND", reason: "NAME_UNKNOWN", fields: [field] });
      expect(episodes.seen).toEqual([]);
    });
  }

  it("an address is refused as such (EPI-RUN-013)", async () => {
    await using episodes = await ServedEpisodes.start();
    for (const environment of [episodes.environment.url, "127.0.0.1:80", "unix:///tmp/x"]) {
      const { error } = await episodes.run({ environment });
      expect(error).toMatchObject({
        code: "INVALID_ARGUMENT",
        reason: "INVALID_FIELD",
        fields: ["environment"],
      });
    }
    expect(episodes.seen).toEqual([]);
  });

  it("an agent that is bound twice, none, or more than the driver plays", async () => {
    await using episodes = await ServedEpisodes.start();
    expect((await episodes.run({ agents: [...agents(), ...agents()] })).error).toMatchObject({
      reason: "INVALID_FIELD",
      fields: ["agents[1].agent_id"],
    });
    for (const bound of [[], [...agents(), ...agents({ agentId: "other" })]]) {
      expect((await episodes.run({ agents: bound })).error).toMatchObject({
        reason: "INVALID_FIELD",
        fields: ["agents"],
      });
    }
  });
});

group("Pairs that cannot work are refused before Seed, each named (EPI-RUN-017)", () => {
  const pairs: Record<
    string,
    { change?: RunInit; script?: (episodes: ServedEpisodes) => void; fields: string[] }
  > = {
    "an agent that needs a model, and none": {
      change: { agents: agents({ model: "" }) },
      fields: ["agents[0].model"],
    },
    "no dialect that both speak": {
      script(episodes) {
        episodes.agent.script.describe = async () =>
          described({ modelDialects: [ModelDialect.ANTHROPIC_MESSAGES] });
      },
      fields: ["agents[0].model"],
    },
    "a model without gateways": {
      script(episodes) {
        episodes.model.script.describe = async () => ({ dialects: [ModelDialect.TOUCHSTONE_V1] });
      },
      fields: ["agents[0].model"],
    },
    "tokens of a model that tells none": {
      change: { capture: CaptureLevel.TOKENS },
      script(episodes) {
        episodes.model.script.describe = async () => ({
          service: { features: [Feature.GATEWAY] },
          dialects: [ModelDialect.TOUCHSTONE_V1],
        });
      },
      fields: ["agents[0].model"],
    },
    "an agent that needs a box, and a world without": {
      script(episodes) {
        episodes.agent.script.describe = async () => described({ sandboxRequirements: { ports: [80] } });
      },
      fields: ["agents[0].agent"],
    },
    "an agent of another name in a world of one": {
      change: { agents: agents({ agentId: "solver" }) },
      fields: ["agents[0].agent_id"],
    },
    "a world of two, by a driver of one, one of them unbound and one misspelt": {
      change: { agents: agents({ agentId: "gueser" }) },
      script(episodes) {
        const service = { features: [Feature.MULTI_AGENT] };
        episodes.environment.script.describe = async () => ({ service, agents: ["describer", "guesser"] });
      },
      fields: ["environment", "agents", "agents[0].agent_id"],
    },
    "a listed task of a world that lists none": {
      change: { source: { case: "taskId", value: { id: "q1" } } },
      fields: ["task_id"],
    },
    "boxes that the world does not take": { change: { sandbox: "boxes" }, fields: ["sandbox"] },
    "several at once": {
      change: { sandbox: "boxes", agents: agents({ model: "" }) },
      fields: ["sandbox", "agents[0].model"],
    },
  };
  for (const [name, { change = {}, script, fields }] of Object.entries(pairs)) {
    it(name, async () => {
      await using episodes = await ServedEpisodes.start();
      script?.(episodes);
      const { error, events } = await episodes.run(change);
      expect(error).toMatchObject({ code: "FAILED_PRECONDITION", reason: "UNSATISFIED_REQUIREMENT", fields });
      expect(events.filter(({ sequence }) => sequence > 0n)).toEqual([]);
      expect(episodes.seen.every(({ rpc }) => rpc === "describe")).toBe(true);
      // The name is free.
      expect((await episodes.attach()).error?.reason).toBe("SESSION_UNKNOWN");
    });
  }

  it("and those that can are not", async () => {
    await using episodes = await ServedEpisodes.start();
    episodes.environment.script.describe = async () => ({
      placements: [Placement.NONE, Placement.SHARED_SANDBOX],
      sandboxProviders: ["boxes"],
    });
    episodes.agent.script.describe = async () => described({ sandboxRequirements: { ports: [80] } });
    const { verdict } = await episodes.run({ sandbox: "boxes", capture: CaptureLevel.TOKENS });
    expect(verdict).toBeDefined();
    expect(episodes.environment.requests("seed")[0]?.sandboxProvider).toBe("boxes");
    expect(episodes.model.requests("openGateway")[0]?.capture).toBe(CaptureLevel.TOKENS);
  });
});
