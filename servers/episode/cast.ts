import type { AgentBinding, RunRequest } from "../../gen/index.js";
import { invalidField, unknownName } from "../runtime/refusal.js";
import type { DriverDefinition } from "./define-driver.js";
import { type ConfiguredDriver, episodeOptions } from "./driver-options.js";
import type { AgentPeer, EnvironmentPeer, EpisodePeer, ModelPeer, Peers } from "./peers.js";

/** Who plays one agent. */
export interface AgentPart {
  readonly binding: AgentBinding;
  readonly agent: AgentPeer;
  readonly model: ModelPeer | undefined;
}

/** Who takes part in an episode that is played here, by the names that Run gave. */
export interface BoundCast {
  readonly environment: EnvironmentPeer;
  readonly agents: ReadonlyMap<string, AgentPart>;
}

/** The episode server that plays an episode whole. */
export interface RelayPeer {
  readonly name: string;
  readonly peer: EpisodePeer;
}

/** Who takes part in an episode. */
export interface Cast {
  readonly driver: DriverDefinition;
  /** The driver's options, checked. */
  readonly options: unknown;
  /** Absent: it is played elsewhere. */
  readonly bound: BoundCast | undefined;
  /** Absent: it is played here, or by what does not speak the contract. */
  readonly relay: RelayPeer | undefined;
}

/** What an episode server can cast from. */
export interface CastingPool {
  readonly drivers: readonly ConfiguredDriver[];
  readonly peers: Peers;
  readonly sandboxes: readonly string[];
}

/** Finds who takes part; an unknown name is refused and nothing starts (EPI-RUN-012, EPI-RUN-013). */
export function cast(pool: CastingPool, request: RunRequest): Cast {
  const configured = driverOf(pool, request.driver);
  const { definition: driver } = configured;
  const options = episodeOptions(configured, request.optionsJson);
  if (driver.elsewhere === undefined) {
    return { driver, options, bound: bind(pool, request, driver), relay: undefined };
  }
  const name = driver.elsewhere(options, [...pool.peers.episodes.keys()]);
  const peer = name === undefined ? undefined : named(pool.peers.episodes, name, "options_json.server");
  const relay = name === undefined || peer === undefined ? undefined : { name, peer };
  return { driver, options, bound: undefined, relay };
}

function bind(pool: CastingPool, request: RunRequest, driver: DriverDefinition): BoundCast {
  const { peers } = pool;
  const environment = named(peers.environments, request.environment, "environment");
  if (request.sandbox !== "")
    named(new Map(pool.sandboxes.map((name) => [name, name])), request.sandbox, "sandbox");
  const agents = new Map<string, AgentPart>();
  for (const [i, binding] of request.agents.entries()) {
    if (agents.has(binding.agentId)) {
      throw invalidField(`agents[${i}].agent_id`, `"${binding.agentId}" is bound twice`);
    }
    agents.set(binding.agentId, {
      binding,
      agent: named(peers.agents, binding.agent, `agents[${i}].agent`),
      model: binding.model === "" ? undefined : named(peers.models, binding.model, `agents[${i}].model`),
    });
  }
  const { agents: wanted } = driver;
  if (agents.size === 0 || (wanted !== undefined && agents.size !== wanted)) {
    const expected =
      wanted === undefined ? "at least one agent" : `${wanted} agent for driver "${driver.name}"`;
    throw invalidField("agents", `expected ${expected}, found ${agents.size}`);
  }
  return { environment, agents };
}

function driverOf({ drivers }: CastingPool, name: string): ConfiguredDriver {
  const known = new Map(drivers.map((driver) => [driver.definition.name, driver]));
  if (name !== "") return named(known, name, "driver");
  const [first] = drivers;
  if (first === undefined) throw unknownName("driver", name, []);
  return first;
}

/** What is bound by a name. Throws NAME_UNKNOWN, and INVALID_FIELD for an address. */
export function named<T>(known: ReadonlyMap<string, T>, name: string, field: string): T {
  const found = known.get(name);
  if (found !== undefined) return found;
  // EPI-RUN-013
  if (/^[a-z][a-z0-9+.-]*:\/\/|^unix:|:\d+$/i.test(name)) {
    throw invalidField(field, `expected a name that this server is configured with, found an address`);
  }
  throw unknownName(field, name, [...known.keys()]);
}
