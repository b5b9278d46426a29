import {
  type AgentBinding,
  type AgentSessionServiceDescribeResponse,
  type EnvironmentServiceDescribeResponse,
  Feature,
  ModelDialect,
  type ModelServiceDescribeResponse,
  Placement,
  type RunRequest,
} from "../../gen/index.js";
import { type FieldViolation, invalidField, Refusal, unknownName } from "../runtime/refusal.js";
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

/** What all that take part say of themselves. */
export interface CastDescribed {
  readonly environment: EnvironmentServiceDescribeResponse;
  readonly agents: ReadonlyMap<
    string,
    {
      readonly agent: AgentSessionServiceDescribeResponse;
      readonly model: ModelServiceDescribeResponse | undefined;
    }
  >;
}

/** What an episode server can cast from. */
export interface CastingPool {
  readonly drivers: readonly DriverDefinition[];
  readonly peers: Peers;
  readonly sandboxes: readonly string[];
}

/** Finds who takes part; an unknown name is refused and nothing starts (EPI-RUN-012, EPI-RUN-013). */
export function cast(pool: CastingPool, request: RunRequest): Cast {
  const { drivers, peers, sandboxes } = pool;
  const driver = request.driver === "" ? drivers[0] : drivers.find(({ name }) => name === request.driver);
  if (driver === undefined) {
    throw unknownName(
      "driver",
      request.driver,
      drivers.map(({ name }) => name),
    );
  }
  const environment = named(peers.environments, request.environment, "environment");
  if (request.sandbox !== "" && !sandboxes.includes(request.sandbox)) {
    throw unknownName("sandbox", request.sandbox, sandboxes);
  }
  const agents = new Map<string, AgentPart>();
  for (const [i, binding] of request.agents.entries()) {
    if (agents.has(binding.agentId))
      throw invalidField(`agents[${i}].agent_id`, `"${binding.agentId}" is bound twice`);
    agents.set(binding.agentId, {
      binding,
      agent: named(peers.agents, binding.agent, `agents[${i}].agent`),
      model: binding.model === "" ? undefined : named(peers.models, binding.model, `agents[${i}].model`),
    });
  }
  if (agents.size === 0) throw invalidField("agents", "expected at least one agent");
  return { driver, environment, agents };
}

function named<T>(peers: ReadonlyMap<string, T>, name: string, field: string): T {
  const found = peers.get(name);
  if (found === undefined) throw unknownName(field, name, [...peers.keys()]);
  return found;
}

/** Refuses pairs that cannot work, each named, before anything is started (EPI-RUN-017). */
export function checkPairs(request: RunRequest, described: CastDescribed): void {
  const unmet: FieldViolation[] = [];
  const placements = described.environment.placements;
  const boxed = placements.some((placement) => placement !== Placement.NONE);
  for (const [i, binding] of request.agents.entries()) {
    const part = described.agents.get(binding.agentId);
    if (part === undefined) continue;
    const { agent, model } = part;
    const speaks = agent.modelDialects;
    const needsModel = speaks.length > 0 || agent.customModelDialects.length > 0;
    if (needsModel && model === undefined) {
      unmet.push({
        field: `agents[${i}].model`,
        description: `agent "${binding.agent}" needs a model, none is bound`,
      });
    }
    if (needsModel && model !== undefined) {
      const features = model.service?.features ?? [];
      if (!features.includes(Feature.GATEWAY)) {
        unmet.push({
          field: `agents[${i}].model`,
          description: `model "${binding.model}" opens no gateways`,
        });
      } else if (!speaks.some((dialect) => model.dialects.includes(dialect))) {
        const list = (dialects: readonly ModelDialect[]) =>
          dialects.map((d) => ModelDialect[d] ?? d).join(", ") || "none";
        unmet.push({
          field: `agents[${i}].model`,
          description: `agent "${binding.agent}" speaks ${list(speaks)}, the gateway of "${binding.model}" ${list(model.dialects)}`,
        });
      }
    }
    if (agent.sandboxRequirements !== undefined && !boxed) {
      unmet.push({
        field: `agents[${i}].agent`,
        description: `agent "${binding.agent}" needs a sandbox, environment "${request.environment}" makes none`,
      });
    }
  }
  if (unmet.length > 0) {
    const text = unmet.map(({ field, description }) => `${field}: ${description}`).join("; ");
    throw new Refusal("UNSATISFIED_REQUIREMENT", text, { violations: unmet });
  }
}
