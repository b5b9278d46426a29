import { ConfigError } from "../servers/composition/config-error.js";
import type { Config } from "../servers/composition/load-config.js";
import { type LoadedServer, loadServers } from "../servers/composition/load-servers.js";
import { type RunConfig, runSchema } from "../servers/composition/run-schema.js";
import { type StartedServer, startServers } from "../servers/composition/start-servers.js";
import { type AgentDescribed, needsModel } from "../servers/episode/cast-described.js";
import { Channels, type Dial } from "../servers/runtime/dial.js";
import type { Logger } from "../servers/runtime/log.js";
import { type Unmet, unmetBy } from "./check-composition.js";
import { describeServer, needsOf, type SaidBy } from "./describe-servers.js";
import { requestOf } from "./run-request.js";
import { configuredRun, configuredRuns, settle } from "./run-settings.js";
import { taskSources } from "./task-source.js";

/** Servers that could make an episode together, by their names in the configuration. */
export interface JudgedPair {
  /** Name of the run that it is of, where the configuration has several and they were asked for. */
  readonly run?: string;
  readonly environment: string;
  /** Agent server of each agent_id. */
  readonly agents: Readonly<Record<string, string>>;
  /** Model server of each agent_id that needs one. */
  readonly models: Readonly<Record<string, string>>;
  readonly episode: string;
  /** Name of the driver. */
  readonly driver: string;
  /** What keeps them from working together; empty: they can. */
  readonly unmet: readonly Unmet[];
}

/** What judging pairs needs. */
export interface JudgeOptions {
  readonly config: Config;
  /** Only what `run`, or each of `runs`, names, with all its agents. */
  readonly onlyRun: boolean;
  readonly log: Logger;
}

/**
 * Which of the configured servers can work together. Starts those of ours, asks every one what it is, and applies the
 * rules of a run to every environment with every agent, every model where the agent needs one, and every driver. What
 * `run` asks for beside its servers, such as what is captured, is asked of each. Throws ConfigError where the
 * configuration itself is wrong.
 */
export async function judgePairs({ config, onlyRun, log }: JudgeOptions): Promise<JudgedPair[]> {
  const runs = onlyRun ? await pinnedRuns(config) : [];
  const loaded = await loadServers(config);
  if (!onlyRun) checkSomeOfEach(config);
  await using channels = new Channels();
  await using started = await startServers({ config, loaded, log });
  const said = await describeAll([...started.servers.values()], channels.dial);
  if (!onlyRun) {
    const run = config.run ?? emptyRun();
    return allPairs(said).map((pair) => ({ ...pair, unmet: judge(pair, { run, said, loaded }) }));
  }
  return runs.map(({ name, run, driver }) => {
    const pair = ofRun(run, said, driver);
    const unmet = judge(pair, { run, said, loaded });
    return { ...(name === undefined ? {} : { run: name }), ...pair, unmet };
  });
}

/** The runs of a configuration, each with the driver that its benchmark pins. Throws ConfigError. */
async function pinnedRuns(config: Config) {
  return await Promise.all(
    configuredRuns(config).map(async ({ name, config: own }) => {
      const run = configuredRun(own);
      const { benchmark } = await taskSources(own, run);
      return { name, run, driver: benchmark?.driver };
    }),
  );
}

/** Refuses a configuration that can make no pair: it would tell that all of none work. */
function checkSomeOfEach(config: Config): void {
  const kinds = new Set([...config.servers.values()].map(({ kind }) => kind));
  const missing = (["environment", "agent", "episode"] as const).filter((kind) => !kinds.has(kind));
  if (missing.length === 0) return;
  const text = `expected an environment, an agent and an episode server, found no ${missing.join(", no ")}`;
  throw config.refuse([{ path: ["servers"], text }]);
}

type Pair = Omit<JudgedPair, "unmet" | "run">;

/** What a server said of itself, or why it could not be asked. */
type Said = {
  readonly [Kind in keyof SaidBy]: ReadonlyMap<string, SaidBy[Kind] | ConfigError>;
};

async function describeAll(servers: readonly StartedServer[], dial: Dial): Promise<Said> {
  const all = async <Kind extends keyof SaidBy>(kind: Kind) =>
    new Map(
      await Promise.all(
        servers
          .filter((server) => server.kind === kind)
          .map(async (server) => [server.name, await orProblem(describeServer(server, kind, dial))] as const),
      ),
    );
  const [environment, agent, model, episode] = await Promise.all([
    all("environment"),
    all("agent"),
    all("model"),
    all("episode"),
  ]);
  return { environment, agent, model, episode };
}

async function orProblem<D>(asked: Promise<D>): Promise<D | ConfigError> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
}

/** The agent of a pair of one agent. */
const soleAgent = "agent";

function allPairs(said: Said): Pair[] {
  const drivers = [...said.episode].flatMap(([episode, it]) =>
    it instanceof ConfigError ? [{ episode, driver: "" }] : it.drivers.map((driver) => ({ episode, driver })),
  );
  const agents = [...said.agent].flatMap(([agent, it]) => {
    const models = it instanceof ConfigError || !needsModel(it) ? [] : [...said.model.keys()];
    const bound = { agents: { [soleAgent]: agent } };
    if (models.length === 0) return [{ ...bound, models: {} }];
    return models.map((model) => ({ ...bound, models: { [soleAgent]: model } }));
  });
  return [...said.environment.keys()].flatMap((environment) =>
    agents.flatMap((agent) => drivers.map((driver) => ({ environment, ...agent, ...driver }))),
  );
}

function ofRun(run: RunConfig, said: Said, pinned: string | undefined): Pair {
  const { environment, agents, models, driver: episode } = run;
  const it = said.episode.get(episode);
  const [first = ""] = it === undefined || it instanceof ConfigError ? [] : it.drivers;
  return { environment, agents, models, episode, driver: pinned ?? first };
}

/** What a run asks for where the configuration has none. */
function emptyRun(): RunConfig {
  return runSchema.parse({
    driver: "-",
    environment: "-",
    agents: { [soleAgent]: "-" },
    tasks: { file: "-" },
  });
}

interface JudgeContext {
  readonly run: RunConfig;
  readonly said: Said;
  readonly loaded: ReadonlyMap<string, LoadedServer>;
}

function judge(pair: Pair, { run, said, loaded }: JudgeContext): Unmet[] {
  const unasked: Unmet[] = [];
  const saidBy = <Kind extends keyof SaidBy>(kind: Kind, name: string): SaidBy[Kind] | undefined => {
    const it = said[kind].get(name);
    if (!(it instanceof ConfigError)) return it;
    const field = `servers.${name}`;
    unasked.push(...it.problems.map((problem) => ({ field, text: problem.replace(`${field}: `, "") })));
    return undefined;
  };
  const environment = saidBy("environment", pair.environment);
  const episode = saidBy("episode", pair.episode);
  const agents = new Map<string, AgentDescribed>();
  for (const [agentId, name] of Object.entries(pair.agents)) {
    const agent = saidBy("agent", name);
    if (agent === undefined) continue;
    const model = needsModel(agent) ? pair.models[agentId] : undefined;
    agents.set(agentId, { agent, model: model === undefined ? undefined : saidBy("model", model) });
  }
  if (environment === undefined || episode === undefined || unasked.length > 0) return unasked;
  const { agents: names, models, driver } = pair;
  const composed = { ...run, driver: pair.episode, environment: pair.environment, agents: names, models };
  const settings = { ...settle(composed, {}, undefined), driverName: driver };
  const described = { episode, environment, agents, needs: needsOf(loaded.get(pair.episode), driver) };
  return unmetBy(settings, requestOf(settings, described), described);
}
