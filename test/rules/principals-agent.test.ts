import { expect, describe as group, it } from "vitest";
import { z } from "zod";
import { AgentSessionService, StopReason } from "../../gen/index.js";
import { agentService } from "../../servers/agent/agent-service.js";
import { oracle } from "../../servers/agent/harnesses/oracle.js";
import { defineEnvironment } from "../../servers/environment/define-environment.js";
import { Channels } from "../../servers/runtime/dial.js";
import { toolCallItem } from "../../servers/runtime/items.js";
import { createRuntime } from "../../servers/runtime/runtime.js";
import { serve } from "../../servers/runtime/serve.js";
import { BareClient } from "../bare-client.js";
import * as fixture from "./fixture.js";

const as = (token: string) => ({ metadata: { authorization: `Bearer ${token}` } });

/** Two agents, each with a button of its own; the one that pressed wins. */
const buttons = defineEnvironment({
  name: "gated",
  version: "1.0.0",
  reward: { timing: "terminal", minimum: 0, maximum: 1 },
  determinism: "seeded",
  agents: ["a", "b"],
  read: () => null,
  seed: () => ({ state: { pressed: [] as string[] }, next: ["a", "b"] }),
  tools: {
    press: {
      description: "Presses the button.",
      input: z.object({}),
      run(_args, { state, agentId }) {
        state.pressed.push(agentId);
        return "pressed";
      },
    },
  },
  verify: ({ state }) => ({
    reward: 1,
    agentRewards: Object.fromEntries(["a", "b"].map((id) => [id, state.pressed.includes(id) ? 1 : 0])),
  }),
});

group("PRINCIPALS between servers", () => {
  it("an agent server acts with the token of its agent, and only as it, where everybody has a credential", async () => {
    await using f = await fixture.serveWorld(buttons, { principals: { controllerToken: "of-the-world" } });
    await using channels = new Channels();
    const runtime = createRuntime({ principals: { controllerToken: "of-the-agent" } });
    const service = agentService({ definition: oracle, runtime, dial: channels.dial, defaults: {} });
    await using server = await serve({ runtime, services: [service] });
    const client = new BareClient(server.url);
    const { open, activate } = AgentSessionService.method;

    const world = as("of-the-world");
    const seeded = await f.client.unary(fixture.seed, fixture.seedRequest(), world);
    const view = seeded.message?.session?.agents[1];
    const request = {
      sessionId: "agent-b",
      context: fixture.seedRequest().context,
      agentId: "b",
      tools: view?.tools ?? [],
      toolAccesses: view?.toolAccesses ?? [],
      reference: { items: [toolCallItem({ callId: "1", name: "press", argumentsJson: "{}" })] },
    };
    expect((await client.unary(open, request)).error?.reason).toBe("CREDENTIALS");
    expect((await client.unary(open, request, as("of-the-agent"))).error).toBeUndefined();
    const turn = await client.stream(activate, { sessionId: "agent-b" }, as("of-the-agent"));
    const last = turn.messages.at(-1)?.event;
    expect(last?.case === "completed" && last.value.stopReason).toBe(StopReason.DONE);
    const judged = await f.client.stream(
      fixture.verify,
      { ...fixture.verifyRequest(0), submission: {} },
      world,
    );
    expect(judged.messages.at(-1)?.event.value).toMatchObject({
      outcome: { value: { agentRewards: { a: { value: 0 }, b: { value: 1 } } } },
    });
    client.close();
  });
});
