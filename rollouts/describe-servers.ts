import { Code } from "@connectrpc/connect";
import { codeName } from "../clients/code-name.js";
import {
  agentSessionClient,
  CallError,
  type Channel,
  type ClientOptions,
  environmentClient,
  episodeClient,
  modelClient,
} from "../clients/index.js";
import { printable } from "../clients/printable.js";
import type {
  AgentSessionServiceDescribeResponse,
  EnvironmentServiceDescribeResponse,
  EpisodeServiceDescribeResponse,
  ModelServiceDescribeResponse,
} from "../gen/index.js";
import { ConfigError } from "../servers/composition/config-error.js";
import type { LoadedServer } from "../servers/composition/load-servers.js";
import { driverOf, type Players } from "../servers/composition/players.js";
import type { ServerKind } from "../servers/composition/server-schema.js";
import type { StartedServer, StartedServers } from "../servers/composition/start-servers.js";
import { type CastDescribed, needsModel } from "../servers/episode/cast-described.js";
import type { DriverNeeds } from "../servers/episode/check-pairs.js";
import { episodeOptions } from "../servers/episode/driver-options.js";
import type { Dial } from "../servers/runtime/dial.js";
import { oneLine } from "./error-text.js";
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
export interface RunDescribed {
  readonly episode: EpisodeServiceDescribeResponse;
  /** The episode server that plays; absent: what plays does not speak the contract. */
  readonly player: EpisodeServiceDescribeResponse | undefined;
  /** Absent: it is known only where the episodes are played. */
  readonly environment: EnvironmentServiceDescribeResponse | undefined;
  /** Those that this configuration has, by agent_id. */
  readonly agents: CastDescribed["agents"];
  /** What the driver that plays wants of the others; absent: it runs elsewhere, and only it knows. */
  readonly needs: DriverNeeds | undefined;
}

/** What the driver that plays wants of the others, where it is one of this process. Throws ConfigError. */
export function needsOf(
  servers: ReadonlyMap<string, LoadedServer>,
  { last, names }: Players,
): DriverNeeds | undefined {
  const server = servers.get(last.server);
  const chosen = names === "ours" && server !== undefined ? driverOf(server, last.driver) : undefined;
  if (chosen === undefined) return undefined;
  const { definition } = chosen;
  try {
    const agents = definition.agentNeeds?.(episodeOptions(chosen, last.optionsJson)) ?? [];
    return { environment: definition.needs ?? [], agents, agentCount: definition.agents };
  } catch (error) {
    throw new ConfigError([`servers.${last.server}: the driver's options: ${oneLine(error)}`]);
  }
}

/** Options of a client of a server: its calls bear the credential that the configuration gives. */
export function clientOptions({ address: { credential } }: StartedServer): ClientOptions {
  return credential === undefined ? {} : { headers: { authorization: `Bearer ${credential}` } };
}

/** A started server by its name. */
export function startedServer(servers: StartedServers["servers"], name: string): StartedServer {
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
  { servers, dial }: { readonly servers: StartedServers["servers"]; readonly dial: Dial },
): Promise<Omit<RunDescribed, "needs">> {
  const problems: string[] = [];
  const { last, names } = run.players;
  const ask = async <Kind extends keyof SaidBy>(
    kind: Kind,
    name: string,
  ): Promise<SaidBy[Kind] | undefined> => {
    // Known only where the episodes are played.
    if (names !== "ours" && servers.get(name)?.kind !== kind) return undefined;
    try {
      return await describeServer(startedServer(servers, name), kind, dial);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      problems.push(...error.problems);
      return undefined;
    }
  };
  const [episode, player, environment, agents] = await Promise.all([
    ask("episode", run.driver),
    names === "nobody" ? undefined : ask("episode", last.server),
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
  if (episode === undefined || problems.length > 0) throw new ConfigError([...new Set(problems)]);
  return { episode, player, environment, agents: new Map(agents.flat()) };
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
    throw new ConfigError([`servers.${name}: ${address.url}: ${whyNot(error, kind)}`]);
  }
}

/** Characters of a server's own words that are shown. */
const wordsLength = 300;

/** Why a server did not say what it is, with its own words. */
function whyNot(error: CallError, kind: ServerKind): string {
  const { code, reason, rawMessage } = error;
  const words = printable(rawMessage, wordsLength);
  if (code === Code.Unimplemented) {
    const said = words === "" ? "" : ` (it says: ${words})`;
    return `expected ${serviceNames[kind]} there, found a server without it${said}; check the address`;
  }
  const ended = `${codeName(code)}${reason === undefined ? "" : `/${printable(reason, wordsLength)}`}`;
  const said = words === "" ? ended : `${words} (${ended})`;
  return `cannot be asked what it is: ${said}; check that it runs and the address`;
}
