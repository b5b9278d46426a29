import { expect, describe as group, it } from "vitest";
import { CaptureLevel, FailureKind, Role, StopReason } from "../../gen/index.js";
import { type Conversations, startRealServers } from "../../test/real-servers.js";
import { reasoning } from "../environment/worlds/reasoning/index.js";

/** Every server of ours, and a run of one task. */
async function startAll(conversations: Conversations) {
  const servers = await startRealServers(reasoning({ calculator: true }), conversations);
  const { client } = servers;
  const run = (agent: string, id = agent) =>
    client
      .run({
        context: { episodeId: { rolloutId: id } },
        environment: "world",
        agents: [{ agentId: "agent", agent, model: agent === "tool-loop" ? "script" : "" }],
        source: {
          case: "task",
          value: {
            taskId: { id: "q1" },
            environment: "reasoning",
            publicJson: '{"kind":"arithmetic","index":3}',
          },
        },
        envSeed: 5n,
        giveReference: agent === "oracle",
        capture: CaptureLevel.TOKENS,
      })
      .result();
  return {
    client,
    run,
    [Symbol.asyncDispose]: () => servers[Symbol.asyncDispose](),
  };
}

group("All servers together, over sockets", () => {
  it("oracle is the ceiling, noop the floor", async () => {
    await using all = await startAll([]);
    const oracle = await all.run("oracle");
    expect(oracle.outcome).toMatchObject({ case: "verdict", value: { reward: { value: 1 } } });
    expect(oracle).toMatchObject({ referenceGiven: true, agentEnds: [{ stopReason: StopReason.DONE }] });
    expect((await all.run("noop")).outcome).toMatchObject({
      case: "verdict",
      value: { reward: { value: 0 } },
    });
  });

  it("a model that calls its tools is scored, its tokens may be trained on", async () => {
    await using all = await startAll([
      {
        task: "q1",
        calls: [
          {
            reasoning: "let me see",
            tool_calls: [{ name: "calculator", arguments: { expression: "2*110" } }],
          },
          { text: "#### 220" },
        ],
      },
    ]);
    const outcome = await all.run("tool-loop");
    expect(outcome.outcome).toMatchObject({ case: "verdict", value: { reward: { value: 1 } } });
    expect(outcome).toMatchObject({
      agentEnds: [{ stopReason: StopReason.DONE, usage: { modelCalls: 2, toolCalls: 1 } }],
      steps: 1,
      training: { usable: true, reasons: [] },
      cleanUps: [{ released: true }, { released: true }, { released: true }],
    });
    const kinds: string[] = [];
    for await (const { record } of all.client.readTrajectory({ episodeId: { rolloutId: "tool-loop" } })) {
      if (record.case === "item") kinds.push(record.value.kind.case ?? "");
      if (record.case === "call") kinds.push("captured");
    }
    expect(kinds).toEqual([
      ...["chatMessage", "reasoning", "toolCall", "toolResult", "chatMessage"],
      ...["captured", "captured"],
    ]);
    const [agent] = outcome.submission?.agents ?? [];
    const last = agent?.items.at(-1)?.kind;
    expect(last?.case === "chatMessage" && last.value.role).toBe(Role.ASSISTANT);
  });

  it("a model that fails is an episode without a reward, its siblings are scored (field-case-038)", async () => {
    await using all = await startAll([
      { task: "q1", calls: [{ fail: { kind: "MODEL_UNAVAILABLE", reason: "no engine" } }] },
    ]);
    const [broken, ...others] = await Promise.all([
      all.run("tool-loop"),
      ...Array.from({ length: 6 }, (_, i) => all.run("oracle", `o${i}`)),
    ]);
    expect(broken?.outcome).toMatchObject({
      case: "failure",
      value: { kind: FailureKind.MODEL_UNAVAILABLE, reason: "no engine", agentId: "agent" },
    });
    expect(broken?.cleanUps.every(({ released }) => released)).toBe(true);
    for (const { outcome } of others) expect(outcome.case).toBe("verdict");
  });
});
