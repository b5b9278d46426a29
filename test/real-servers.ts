import { type EpisodeClient, episodeClient } from "../clients/index.js";
import { agentService } from "../servers/agent/agent-service.js";
import type { AgentDefinition } from "../servers/agent/define-agent.js";
import { agents } from "../servers/agent/harnesses/index.js";
import type { EnvironmentDefinition } from "../servers/environment/define-environment.js";
import { environmentService } from "../servers/environment/environment-service.js";
import { drivers } from "../servers/episode/drivers/index.js";
import { episodeService } from "../servers/episode/episode-service.js";
import { modelService } from "../servers/model/model-service.js";
import { replay } from "../servers/model/models/replay/index.js";
import { Channels } from "../servers/runtime/dial.js";
import type { HeldService } from "../servers/runtime/held-service.js";
import { createRuntime, type Runtime } from "../servers/runtime/runtime.js";
import { type RunningServer, serve } from "../servers/runtime/serve.js";

/** What a scripted model says. */
export type Conversations = NonNullable<Parameters<typeof replay>[0]["conversations"]>;

/** Every server of ours, each on its own socket, and a client of the driver. */
export interface RealServers extends AsyncDisposable {
  readonly client: EpisodeClient;
}

/** Starts an environment, bound as `world`, all harnesses by their names, a model as `script`, and all drivers. */
export async function startRealServers<Data, State>(
  definition: EnvironmentDefinition<Data, State>,
  conversations: Conversations,
): Promise<RealServers> {
  const servers: RunningServer[] = [];
  const channels = new Channels();
  const start = async (make: (runtime: Runtime) => HeldService): Promise<string> => {
    const runtime = createRuntime();
    const server = await serve({ runtime, services: [make(runtime)] });
    servers.unshift(server);
    return server.url;
  };
  const script = await replay({ conversations });
  const environment = await start((runtime) => environmentService(definition, runtime));
  const model = await start((runtime) => modelService({ definition: script, runtime }));
  const bound: Record<string, { url: string }> = {};
  for (const [name, harness] of Object.entries(agents)) {
    const own = harness as AgentDefinition<unknown>;
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
        environments: { world: { url: environment } },
        agents: bound,
        models: { script: { url: model } },
        sandboxes: [],
      },
    }),
  );
  return {
    client: episodeClient(channels.dial({ url: driver })),
    async [Symbol.asyncDispose]() {
      for (const server of servers) await server.close({ drainTimeoutMs: 0 });
      await channels[Symbol.asyncDispose]();
    },
  };
}
