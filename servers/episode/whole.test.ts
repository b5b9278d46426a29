import { expect, describe as group, it } from "vitest";
import { episodeClient } from "../../clients/index.js";
import { CaptureLevel, FailureKind, Role, StopReason } from "../../gen/index.js";
import { agentService } from "../agent/agent-service.js";
import type { AgentDefinition } from "../agent/define-agent.js";
import { agents } from "../agent/harnesses/index.js";
import { environmentService } from "../environment/environment-service.js";
import { reasoning } from "../environment/worlds/reasoning/index.js";
import { modelService } from "../model/model-service.js";
import { replay } from "../model/models/replay/index.js";
import { Channels } from "../runtime/dial.js";
import type { HeldService } from "../runtime/held-service.js";
import { createRuntime, type Runtime } from "../runtime/runtime.js";
import { type RunningServer, serve } from "../runtime/serve.js";
import { drivers } from "./drivers/index.js";
import { episodeService } from "./episode-service.js";

type Conversations = Parameters<typeof replay>[0]["conversations"];

/** Every server of ours, each on its own socket, and a client of the driver. */
async function startAll(conversations: NonNullable<Conversations>) {
  const servers: RunningServer[] = [];
  const channels = new Channels();
  const start = async (make: (runtime: Runtime) => HeldService): Promise<string> => {
    const runtime = createRuntime();
    const server = await serve({ runtime, services: [make(runtime)] });
    servers.unshift(server);
    return server.url;
  };
  const script = await replay({ conversations });
  const environment = await start((runtime) => environmentService(reasoning({ calculator: true }), runtime));
  const model = await start((runtime) => modelService({ definition: script, runtime }));
  const bound: Record<string, { url: string }> = {};
  for (const [name, definition] of Object.entries(agents)) {
    const own = definition as AgentDefinition<unknown>;
    bound[name] = {
      url: await start((runtime) => agentService({ definition: own, runtime, dial: channels.dial })),
    };
  }
  const driver = await start((runtime) =>
    episodeService({
      runtime,
      drivers: Object.values(drivers),
      dial: channels.dial,
      version: "0",
      bindings: {
        environments: { maths: { url: environment } },
        agents: bound,
        models: { script: { url: model } },
        sandboxes: [],
      },
    }),
  );
  const client = episodeClient(channels.dial({ url: driver }));
  const run = (agent: string, id = agent) =>
    client
      .run({
        context: { episodeId: { rolloutId: id } },
        environment: "maths",
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
    async [Symbol.asyncDispose]() {
      for (const server of servers) await server.close({ drainTimeoutMs: 0 });
      await channels[Symbol.asyncDispose]();
    },
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
