import { agentService } from "../../servers/agent/agent-service.js";
import { oracle } from "../../servers/agent/harnesses/oracle.js";
import { environmentService } from "../../servers/environment/environment-service.js";
import { reasoning } from "../../servers/environment/worlds/reasoning/index.js";
import { singleAgentTurn } from "../../servers/episode/drivers/single-agent-turn.js";
import { episodeService } from "../../servers/episode/episode-service.js";
import { Channels } from "../../servers/runtime/dial.js";
import { createRuntime } from "../../servers/runtime/runtime.js";
import { serve } from "../../servers/runtime/serve.js";
import type { PointServer } from "../points/point.js";

/** Names that Run gives. */
export const names = { environment: "maths", agent: "oracle" } as const;

/**
 * An environment, an agent and an episode server, each on a port of its own in this process; they reach each other over
 * loopback sockets. The address is the episode server's.
 */
export async function serveEpisodes(): Promise<PointServer> {
  const channels = new Channels();
  const [atEnvironment, atAgent, atDriver] = [createRuntime(), createRuntime(), createRuntime()];
  const environment = await serve({
    runtime: atEnvironment,
    services: [environmentService(reasoning({ calculator: true }), atEnvironment)],
  });
  const agent = await serve({
    runtime: atAgent,
    services: [agentService({ definition: oracle, runtime: atAgent, dial: channels.dial })],
  });
  const service = episodeService({
    runtime: atDriver,
    drivers: [singleAgentTurn],
    dial: channels.dial,
    version: "0",
    bindings: {
      environments: { [names.environment]: { url: environment.url } },
      agents: { [names.agent]: { url: agent.url } },
      models: {},
      sandboxes: [],
    },
  });
  const driver = await serve({ runtime: atDriver, services: [service] });
  return {
    address: driver.url,
    live: () => service.live(),
    async close() {
      for (const server of [driver, agent, environment]) await server.close({ drainTimeoutMs: 0 });
      await channels[Symbol.asyncDispose]();
    },
  };
}
