import { Code } from "@connectrpc/connect";
import {
  agentSessionClient,
  CallError,
  type Channel,
  type ClientOptions,
  environmentClient,
  episodeClient,
  modelClient,
} from "../clients/index.js";
import type {
  AgentSessionServiceDescribeResponse,
  EnvironmentServiceDescribeResponse,
  EpisodeServiceDescribeResponse,
  Feature,
  ModelServiceDescribeResponse,
} from "../gen/index.js";
import { ConfigError } from "../servers/composition/config-error.js";
import type { LoadedServer } from "../servers/composition/load-servers.js";
import type { StartedServer, StartedServers } from "../servers/composition/start-servers.js";
import { type CastDescribed, needsModel } from "../servers/episode/cast-described.js";
import type { Dial } from "../servers/runtime/dial.js";
import type { RunSettings } from "./run-settings.js";

/** Milliseconds within which a server must say what it is. */
const describeMs = 10_000;

const serviceNames = {
  environment: "touchstone.v1.EnvironmentService",
  agent: "touchstone.v1.AgentSessionService",
  model: "touchstone.v1.ModelService",
  episode: "touchstone.v1.EpisodeService",
  sandbox: "touchstone.v1.SandboxService",
} as const;

/** What all servers of a run say of themselves. */
export interface RunDescribed extends CastDescribed {
  readonly episode: EpisodeServiceDescribeResponse;
  /** What the driver wants of an environment; absent: it runs elsewhere, and only it knows. */
  readonly needs?: readonly Feature[] | undefined;
}

/** What the driver of a run wants of an environment, where it is one of this process. */
export function needsOf(
  server: LoadedServer | undefined,
  driverName: string,
): readonly Feature[] | undefined {
  if (server?.implementation.kind !== "episode") return undefined;
  const { drivers } = server.implementation;
  return (driverName === "" ? drivers[0] : drivers.find(({ name }) => name === driverName))?.needs;
}

/** Options of a client of a server: its calls bear the credential that the configuration gives. */
export function clientOptions({ address: { credential } }: StartedServer): ClientOptions {
  return credential === undefined ? {} : { headers: { authorization: `Bearer ${credential}` } };
}

/** A started server by its name. */
export function startedServer({ servers }: StartedServers, name: string): StartedServer {
  const found = servers.get(name);
  if (found === undefined) throw new Error(`server "${name}" was not started`);
  return found;
}

/** What the servers of a kind say of themselves. */
export interface SaidBy {
  readonly environment: EnvironmentServiceDescribeResponse;
  readonly agent: AgentSessionServiceDescribeResponse;
  readonly model: ModelServiceDescribeResponse;
  readonly episode: EpisodeServiceDescribeResponse;
}

const asks: { readonly [Kind in keyof SaidBy]: Ask<SaidBy[Kind]> } = {
  environment: (channel, options) => environmentClient(channel, options).describe({}),
  agent: (channel, options) => agentSessionClient(channel, options).describe({}),
  model: (channel, options) => modelClient(channel, options).describe({}),
  episode: (channel, options) => episodeClient(channel, options).describe({}),
};

/** Asks a server what it is. Throws ConfigError, one clear line that names it. */
export async function describeServer<Kind extends keyof SaidBy>(
  server: StartedServer,
  kind: Kind,
  dial: Dial,
): Promise<SaidBy[Kind]> {
  return await askOne(server, dial, asks[kind]);
}

/**
 * Asks all servers of a run what they are, before its first episode; a model only where its agent needs one. Throws
 * ConfigError with each that cannot be asked.
 */
export async function describeServers(
  run: RunSettings,
  started: StartedServers,
  dial: Dial,
): Promise<RunDescribed> {
  const problems: string[] = [];
  const ask = async <Kind extends keyof SaidBy>(
    kind: Kind,
    name: string,
  ): Promise<SaidBy[Kind] | undefined> => {
    try {
      return await describeServer(startedServer(started, name), kind, dial);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      problems.push(...error.problems);
      return undefined;
    }
  };
  const [episode, environment, agents] = await Promise.all([
    ask("episode", run.driver),
    ask("environment", run.environment),
    Promise.all(
      Object.entries(run.agents).map(async ([agentId, name]) => {
        const agent = await ask("agent", name);
        if (agent === undefined) return [];
        const modelName = needsModel(agent) ? run.models[agentId] : undefined;
        const model = modelName === undefined ? undefined : await ask("model", modelName);
        return [[agentId, { agent, model }] as const];
      }),
    ),
  ]);
  if (episode === undefined || environment === undefined || problems.length > 0) {
    throw new ConfigError([...new Set(problems)]);
  }
  return { episode, environment, agents: new Map(agents.flat()) };
}

type Ask<D> = (channel: Channel, options: ClientOptions) => Promise<D>;

/** Asks a server what it is; a failure is one clear line that names it. */
async function askOne<D>(server: StartedServer, dial: Dial, describe: Ask<D>): Promise<D> {
  const { name, kind, address } = server;
  const options = { ...clientOptions(server), timeoutMs: describeMs, repeat: false } as const;
  try {
    return await describe(dial(address), options);
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
    const found =
      error.code === Code.Unimplemented
        ? `expected ${serviceNames[kind]} there, found a server without it; check the address`
        : `cannot be asked what it is: ${error.rawMessage}; check that it runs and the address`;
    throw new ConfigError([`servers.${name}: ${address.url}: ${found}`]);
  }
}
