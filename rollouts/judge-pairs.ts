import { ConfigError } from "../servers/composition/config-error.js";
import type { Config } from "../servers/composition/load-config.js";
import { type LoadedServer, loadServers } from "../servers/composition/load-servers.js";
import { type RunConfig, runSchema } from "../servers/composition/run-schema.js";
import { type StartedServer, startServers } from "../servers/composition/start-servers.js";
import { type AgentDescribed, needsModel } from "../servers/episode/cast-described.js";
import { Channels, type Dial } from "../servers/runtime/dial.js";
import type { Logger } from "../servers/runtime/log.js";
import { pathText } from "../servers/runtime/problem.js";
import { unmetBy } from "./check-composition.js";
import { describeServer, needsOf, type SaidBy } from "./describe-servers.js";
import { playersAt, runPlayers } from "./run-players.js";
import { requestOf } from "./run-request.js";
import { configuredRun, configuredRuns, type RunSettings, settle } from "./run-settings.js";
import { taskSources } from "./task-source.js";

/** A requirement of servers that is not met. */
export interface Unmet {
  /**
   * What asks for it: the path of a run of the configuration (`run.models.agent`) or of a server (`servers.maths`); of a
   * pair that no run names, the path that it would have in one (`models.agent`).
   */
  readonly field: string;
  /** What was expected, what was found. */
  readonly text: string;
}

/** Servers that could make an episode together, by their names in the configuration. */
export interface JudgedPair {
  /** The run that it is of: `run`, or its name among several; absent: no run of the configuration names it. */
  readonly run?: string;
  /** Absent: what plays its episodes needs none. */
  readonly environment?: string;
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
 * rules of a run to each run of the configuration, then to every other environment with every agent, every model where
 * the agent needs one, and every driver. What a sole `run` asks for beside its servers, such as what is captured, is
 * asked of each. Throws ConfigError where the configuration itself is wrong.
 */
export async function judgePairs({ config, onlyRun, log }: JudgeOptions): Promise<JudgedPair[]> {
  const someRun = config.run !== undefined || config.runs.size > 0;
  const runs = someRun || onlyRun ? await pinnedRuns(config) : [];
  const loaded = await loadServers(config);
  if (runs.length === 0) checkSomeOfEach(config);
  await using channels = new Channels();
  await using started = await startServers({ config, loaded, log, purpose: "describe" });
  const said = await describeAll([...started.servers.values()], channels.dial);
  const named: JudgedPair[] = [];
  for (const { name, config: own, run, driver } of runs) {
    const pair = ofRun(run, said, driver);
    const at = name === undefined ? ["run"] : ["runs", name];
    const unmet = await judge(pair, { run, said, loaded, config: own, at });
    named.push({ run: name ?? "run", ...pair, unmet });
  }
  if (onlyRun) return named;
  const told = new Set(named.map(keyOf));
  const run = config.run ?? emptyRun();
  const others = allPairs(said).filter((pair) => !told.has(keyOf(pair)));
  const judged = others.map(async (pair) => ({
    ...pair,
    unmet: await judge(pair, { run, said, loaded, config, at: [] }),
  }));
  return [...named, ...(await Promise.all(judged))];
}

/** The same for pairs of the same servers. */
function keyOf({ environment, agents, models, episode, driver }: Pair): string {
  return JSON.stringify([environment, Object.entries(agents), Object.entries(models), episode, driver]);
}

/** The runs of a configuration, their names checked, each with the driver that its benchmark pins. Throws ConfigError. */
async function pinnedRuns(config: Config) {
  return await Promise.all(
    configuredRuns(config).map(async ({ name, config: own }) => {
      const run = configuredRun(own);
      const { benchmark } = await taskSources(own, run);
      await runPlayers(own, run, benchmark?.driver);
      return { name, config: own, run, driver: benchmark?.driver };
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
  const named = environment === undefined ? {} : { environment };
  return { ...named, agents, models, episode, driver: pinned ?? first };
}

/** What a run asks for where the configuration has none. */
function emptyRun(): RunConfig {
  return runSchema.parse({ driver: "-", tasks: { file: "-" } });
}

interface JudgeContext {
  readonly run: RunConfig;
  readonly said: Said;
  readonly loaded: ReadonlyMap<string, LoadedServer>;
  readonly config: Config;
  /** Where the run stands in the configuration; empty: it is none of its. */
  readonly at: readonly string[];
}

async function judge(pair: Pair, context: JudgeContext): Promise<readonly Unmet[]> {
  const { run, said, loaded, config, at } = context;
  const { environment: _, ...rest } = run;
  const named = pair.environment === undefined ? {} : { environment: pair.environment };
  const composed = { ...rest, ...named, driver: pair.episode, agents: pair.agents, models: pair.models };
  let settings: RunSettings;
  try {
    const load = async (name: string) => loaded.get(name);
    const players = await playersAt(config, { server: pair.episode, driver: pair.driver, load });
    settings = settle(composed, {}, { config, benchmark: undefined, players });
  } catch (error) {
    return ofError(error, pathText([...at, "driver"]));
  }
  const { players } = settings;
  const unasked: Unmet[] = [];
  const saidBy = <Kind extends keyof SaidBy>(kind: Kind, name: string): SaidBy[Kind] | undefined => {
    const it = said[kind].get(name);
    if (!(it instanceof ConfigError)) return it;
    unasked.push(...ofError(it, `servers.${name}`));
    return undefined;
  };
  const environment = saidBy("environment", settings.environment);
  const episode = saidBy("episode", pair.episode);
  const player = players.names === "nobody" ? undefined : saidBy("episode", players.last.server);
  const agents = new Map<string, AgentDescribed>();
  for (const [agentId, name] of Object.entries(pair.agents)) {
    const agent = saidBy("agent", name);
    if (agent === undefined) continue;
    const model = needsModel(agent) ? pair.models[agentId] : undefined;
    agents.set(agentId, { agent, model: model === undefined ? undefined : saidBy("model", model) });
  }
  if (episode === undefined || unasked.length > 0) return distinct(unasked);
  const described = { episode, player, environment, agents, needs: needsOf(loaded, players) };
  return unmetBy(settings, requestOf(settings, described), described).map(({ path, text }) => ({
    field: pathText([...at, ...path]),
    text,
  }));
}

/** A problem that was thrown, told of a field. */
function ofError(error: unknown, field: string): Unmet[] {
  if (!(error instanceof ConfigError)) throw error;
  return error.problems.map((problem) => ({ field, text: problem.replace(`${field}: `, "") }));
}

/** The driver and who plays may be one server. */
function distinct(unmet: readonly Unmet[]): readonly Unmet[] {
  return [...new Map(unmet.map((each) => [`${each.field} ${each.text}`, each])).values()];
}
