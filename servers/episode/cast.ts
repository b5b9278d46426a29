import type { AgentBinding, RunRequest } from "../../gen/index.js";
import { invalidField, unknownName } from "../runtime/refusal.js";
import type { DriverDefinition } from "./define-driver.js";
import type { AgentPeer, EnvironmentPeer, ModelPeer, Peers } from "./peers.js";

/** Who plays one agent. */
export interface AgentPart {
  readonly binding: AgentBinding;
  readonly agent: AgentPeer;
  readonly model: ModelPeer | undefined;
}

/** Who takes part in an episode, by the names that Run gave. */
export interface Cast {
  readonly driver: DriverDefinition;
  readonly environment: EnvironmentPeer;
  readonly agents: ReadonlyMap<string, AgentPart>;
}

/** What an episode server can cast from. */
export interface CastingPool {
  readonly drivers: readonly DriverDefinition[];
  readonly peers: Peers;
  readonly sandboxes: readonly string[];
}

/** Finds who takes part; an unknown name is refused and nothing starts (EPI-RUN-012, EPI-RUN-013). */
export function cast(pool: CastingPool, request: RunRequest): Cast {
  const { peers } = pool;
  const driver = driverOf(pool, request.driver);
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
  return { driver, environment, agents };
}

function driverOf({ drivers }: CastingPool, name: string): DriverDefinition {
  if (name !== "") return named(new Map(drivers.map((driver) => [driver.name, driver])), name, "driver");
  const [first] = drivers;
  if (first === undefined) throw unknownName("driver", name, []);
  return first;
}

function named<T>(known: ReadonlyMap<string, T>, name: string, field: string): T {
  const found = known.get(name);
  if (found !== undefined) return found;
  // EPI-RUN-013
  if (/^[a-z][a-z0-9+.-]*:\/\/|^unix:|:\d+$/i.test(name)) {
    throw invalidField(field, `expected a name that this server is configured with, found an address`);
  }
  throw unknownName(field, name, [...known.keys()]);
}
