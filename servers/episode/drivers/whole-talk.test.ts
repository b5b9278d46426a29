import { expect, describe as group, it } from "vitest";
import { z } from "zod";
import { type EpisodeOutcome, FailureKind, OnAgentFailure, StopReason } from "../../../gen/index.js";
import { type Conversations, startRealServers } from "../../../test/real-servers.js";
import { defineEnvironment } from "../../environment/define-environment.js";
import { type ToolContext, tool } from "../../environment/definition/tool.js";
import { textOf } from "../../runtime/items.js";

/** A box with a combination, which the keeper knows and the opener dials. */
interface Box {
  open: boolean;
  /** What was said, by whom. */
  readonly said: string[];
}

const box = defineEnvironment({
  name: "box",
  version: "1",
  reward: { timing: "terminal", minimum: 0, maximum: 1 },
  determinism: "seeded",
  agents: ["keeper", "opener"],
  read: () => ({}),
  seed: () => ({
    state: { open: false, said: [] } as Box,
    agents: {
      keeper: { input: "The number is 7. Tell it.", tools: [] },
      opener: { input: "Open the box.", tools: ["dial"] },
    },
    next: ["keeper"],
  }),
  tools: {
    dial: tool({
      description: "Dials a number.",
      input: z.strictObject({ number: z.int() }),
      run({ number }, { state }: ToolContext<Box>) {
        if (number === 7) state.open = true;
        return number === 7 ? "It opens." : "Nothing happens.";
      },
    }),
  },
  step({ state, actions: [action] }) {
    const items = action?.kind.case === "items" ? action.kind.value.items : [];
    const words = items
      .map(({ kind }) => (kind.case === "chatMessage" ? textOf(kind.value.content) : ""))
      .join("");
    const agentId = action?.agentId ?? "";
    state.said.push(`${agentId}: ${words}`);
    if (words === "bye") return { episodeTerminated: true };
    const other = agentId === "keeper" ? "opener" : "keeper";
    return { next: [other], outcomes: { [other]: { observation: words } } };
  },
  verify: ({ state: { open, said } }) => ({
    reward: open ? 1 : 0,
    agentRewards: { opener: open ? 1 : 0 },
    diagnostics: { said },
  }),
});

async function play(conversations: Conversations, world: readonly string[] = []): Promise<EpisodeOutcome> {
  await using servers = await startRealServers(box, conversations);
  return await servers.client
    .run({
      context: { episodeId: { rolloutId: "r1" } },
      driver: "multi_turn",
      optionsJson: JSON.stringify({ world_agents: world }),
      onAgentFailure: OnAgentFailure.VERIFY,
      environment: "world",
      agents: ["keeper", "opener"].map((agentId) => ({ agentId, agent: "tool-loop", model: "script" })),
      source: { case: "task", value: { taskId: { id: "q" }, environment: "box" } },
    })
    .result();
}

const keeper = { task: "*", agent: "keeper", calls: [{ text: "it is 7" }, { text: "bye" }] };
const opener = {
  task: "*",
  agent: "opener",
  calls: [
    { tool_calls: [{ name: "dial", arguments: { number: 6 } }] },
    { tool_calls: [{ name: "dial", arguments: { number: 7 } }] },
    { text: "thanks" },
  ],
};

group("multi_turn with a world of defineEnvironment and real servers", () => {
  it("an agent acts by its own tools in its turn, and what it says is a step (EPI-DRV-001)", async () => {
    const { outcome, agentEnds, steps, cleanUps } = await play([keeper, opener]);
    expect(outcome).toMatchObject({
      case: "verdict",
      value: { reward: { value: 1 }, agentRewards: { opener: { value: 1 } } },
    });
    const said = outcome.case === "verdict" ? JSON.parse(outcome.value.diagnosticsJson) : undefined;
    expect(said).toEqual({ said: ["keeper: it is 7", "opener: thanks", "keeper: bye"] });
    // Three that the driver took, two of the opener's tools.
    expect(steps).toBe(5);
    expect(agentEnds).toMatchObject([
      { agentId: "keeper", activations: 2, stopReason: StopReason.DONE, usage: { toolCalls: 0 } },
      { agentId: "opener", activations: 1, stopReason: StopReason.DONE, usage: { toolCalls: 2 } },
    ]);
    expect(cleanUps.map(({ released }) => released)).toEqual([true, true, true, true, true]);
  });

  it("a part of the world that fails is a failure that names it, never a 0 of the other", async () => {
    const broken = { task: "*", agent: "keeper", calls: [{ fail: { kind: "MODEL_UNAVAILABLE" as const } }] };
    const { outcome } = await play([broken, opener], ["keeper"]);
    expect(outcome).toMatchObject({
      case: "failure",
      value: { kind: FailureKind.MODEL_UNAVAILABLE, agentId: "keeper" },
    });
  });
});
