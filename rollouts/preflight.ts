import {
  agentSessionClient,
  CallError,
  type Channel,
  environmentClient,
  episodeClient,
  modelClient,
} from "../clients/index.js";
import type { RunRequest } from "../gen/index.js";
import { Feature } from "../gen/index.js";
import { ConfigError } from "../servers/composition/config-error.js";
import type { RunConfig } from "../servers/composition/config-schema.js";
import type { StartedServer, StartedServers } from "../servers/composition/start-servers.js";
import { type CastDescribed, checkPairs } from "../servers/episode/cast.js";
import type { Dial } from "../servers/runtime/dial.js";

/** Milliseconds within which a server must say what it is. */
const describeMs = 10_000;
/** UNIMPLEMENTED: whatever answers there serves another package. */
const unimplemented = 12;

const serviceNames = {
  environment: "touchstone.v1.EnvironmentService",
  agent: "touchstone.v1.AgentSessionService",
  model: "touchstone.v1.ModelService",
  episode: "touchstone.v1.EpisodeService",
  sandbox: "touchstone.v1.SandboxService",
} as const;

/** Asks a server what it is; a failure is one clear line that names it. */
async function ask<D>(
  server: StartedServer,
  dial: Dial,
  describe: (channel: Channel) => Promise<D>,
): Promise<D> {
  const { name, kind, address } = server;
  try {
    return await describe(dial(address));
  } catch (error) {
    if (error instanceof CallError && Number(error.code) === unimplemented) {
      throw new ConfigError([
        `servers.${name}: ${address.url} serves no ${serviceNames[kind]}; check the address`,
      ]);
    }
    const why = error instanceof CallError ? error.rawMessage : String(error);
    throw new ConfigError([`servers.${name}: ${address.url} cannot be asked what it is: ${why}`]);
  }
}

/** What all servers of a run say of themselves, before its first episode. Throws ConfigError. */
export async function describeAll(
  run: RunConfig,
  started: StartedServers,
  dial: Dial,
): Promise<CastDescribed> {
  const options = { timeoutMs: describeMs, repeat: false } as const;
  const server = (name: string): StartedServer => {
    const found = started.servers.get(name);
    if (found === undefined) throw new ConfigError([`server "${name}" was not started`]);
    return found;
  };
  await ask(server(run.driver), dial, (channel) => episodeClient(channel).describe({}, options));
  const environment = await ask(server(run.environment), dial, (channel) =>
    environmentClient(channel).describe({}, options),
  );
  const agents = new Map<string, CastDescribed["agents"] extends ReadonlyMap<string, infer V> ? V : never>();
  for (const [agentId, name] of Object.entries(run.agents)) {
    const agent = await ask(server(name), dial, (channel) =>
      agentSessionClient(channel).describe({}, options),
    );
    const modelName = run.models[agentId];
    const model =
      modelName === undefined
        ? undefined
        : await ask(server(modelName), dial, (channel) => modelClient(channel).describe({}, options));
    agents.set(agentId, { agent, model });
  }
  return { environment, agents };
}

/** Refuses pairs that cannot work before the first episode, in the words of a configuration. */
export function checkCast(request: RunRequest, described: CastDescribed): void {
  try {
    checkPairs(request, described);
  } catch (error) {
    throw new ConfigError([
      `run: ${error instanceof Error ? error.message.replace(/^\[\w+\] /, "") : String(error)}`,
    ]);
  }
}

/** Whether a run's agents include one that takes the task's solution: asking for an oracle is asking for that. */
export function takesReference(described: CastDescribed): boolean {
  return [...described.agents.values()].some(({ agent }) =>
    agent.service?.features.includes(Feature.REFERENCE),
  );
}
