import {
  type AgentBinding,
  CaptureLevel,
  Feature,
  ModelDialect,
  Placement,
  type RunRequest,
  type ServiceInfo,
} from "../../gen/index.js";
import { type FieldViolation, Refusal } from "../runtime/refusal.js";
import { type AgentDescribed, type CastDescribed, needsModel } from "./cast-described.js";

/** The agent of an environment that does not declare MULTI_AGENT. */
const soleAgent = "agent";

function has(service: ServiceInfo | undefined, feature: Feature): boolean {
  return service?.features.includes(feature) ?? false;
}

/** What a driver needs of those that are bound. */
export interface DriverNeeds {
  readonly environment: readonly Feature[];
  readonly agents?: readonly Feature[];
  /** How many agents it plays; absent: as many as there are. */
  readonly agentCount?: number | undefined;
}

/** Refuses pairs that cannot work, each named, before anything is started (EPI-RUN-017). */
export function checkPairs(request: RunRequest, described: CastDescribed, needs: DriverNeeds): void {
  const unmet = [...environmentPairs(request, described, needs), ...unboundAgents(request, described)];
  for (const [i, binding] of request.agents.entries()) {
    const part = described.agents.get(binding.agentId);
    if (part === undefined) continue;
    unmet.push(...agentPairs(request, described, { ...part, binding, i }));
    unmet.push(
      ...unmetNeeds(part.agent.service, needs.agents ?? [], {
        field: `agents[${i}].agent`,
        what: `agent "${binding.agent}"`,
      }),
    );
  }
  if (unmet.length > 0) {
    const text = unmet.map(({ field, description }) => `${field}: ${description}`).join("; ");
    throw new Refusal("UNSATISFIED_REQUIREMENT", text, { violations: unmet });
  }
}

/** The agents that every session of an environment has; undefined: it depends on the task. */
function agentsOf({ service, agents }: CastDescribed["environment"]): readonly string[] | undefined {
  if (!has(service, Feature.MULTI_AGENT)) return [soleAgent];
  return agents.length === 0 ? undefined : agents;
}

/** Agents that the environment has or the task names, and the run binds nobody to. */
function unboundAgents(
  { source, agents, environment: name }: RunRequest,
  { environment }: CastDescribed,
): FieldViolation[] {
  const bound = new Set(agents.map(({ agentId }) => agentId));
  const unboundOf = (ids: readonly string[]): string => ids.filter((id) => !bound.has(id)).join(", ");
  const ofTask = unboundOf(source.case === "task" ? (source.value.requirements?.agents ?? []) : []);
  const several = agentsOf(environment) ?? [];
  // Of one agent it is said that the bound one has another name.
  const ofEnvironment = several.length > 1 ? unboundOf(several) : "";
  return [
    ...(ofTask === ""
      ? []
      : [{ field: "agents", description: `the task needs agents that are not bound: ${ofTask}` }]),
    ...(ofEnvironment === "" || ofEnvironment === ofTask
      ? []
      : [
          {
            field: "agents",
            description: `environment "${name}" has agents that are not bound: ${ofEnvironment}`,
          },
        ]),
  ];
}

/** What the run and its driver ask of the environment alone. */
function environmentPairs(
  request: RunRequest,
  { environment }: CastDescribed,
  needs: DriverNeeds,
): FieldViolation[] {
  const { service, sandboxProviders } = environment;
  const what = `environment "${request.environment}"`;
  const unmet = unmetNeeds(service, needs.environment, { field: "environment", what });
  const agents = agentsOf(environment) ?? [];
  const { agentCount = agents.length } = needs;
  if (agents.length > 0 && agents.length !== agentCount) {
    const description = `the driver plays ${agentCount} agent${agentCount === 1 ? "" : "s"}, ${what} has ${agents.length} (${agents.join(", ")})`;
    unmet.push({ field: "environment", description });
  }
  if (request.source.case === "taskId" && !has(service, Feature.TASK_LISTING)) {
    const description = `environment "${request.environment}" lists no tasks: give it the whole task`;
    unmet.push({ field: "task_id", description });
  }
  if (request.sandbox !== "" && !sandboxProviders.includes(request.sandbox)) {
    const known = sandboxProviders.join(", ") || "none";
    const description = `environment "${request.environment}" takes boxes from: ${known}`;
    unmet.push({ field: "sandbox", description });
  }
  return unmet;
}

/** Features that the driver needs and a server does not declare. */
function unmetNeeds(
  service: ServiceInfo | undefined,
  needs: readonly Feature[],
  { field, what }: { readonly field: string; readonly what: string },
): FieldViolation[] {
  return needs
    .filter((feature) => !has(service, feature))
    .map((feature) => ({
      field,
      description: `the driver needs ${Feature[feature] ?? feature}, which ${what} does not declare`,
    }));
}

function agentPairs(
  request: RunRequest,
  { environment }: CastDescribed,
  part: AgentDescribed & { readonly binding: AgentBinding; readonly i: number },
): FieldViolation[] {
  const { agent, binding, i } = part;
  const unmet: FieldViolation[] = [];
  const known = agentsOf(environment);
  if (known !== undefined && !known.includes(binding.agentId)) {
    const names = known.map((id) => `"${id}"`).join(", ");
    const has = known.length === 1 ? "one agent" : "agents";
    const description = `environment "${request.environment}" has ${has}, ${names}`;
    unmet.push({ field: `agents[${i}].agent_id`, description });
  }
  const boxed = environment.placements.some((placement) => placement !== Placement.NONE);
  if (agent.sandboxRequirements !== undefined && !boxed) {
    const description = `agent "${binding.agent}" needs a sandbox, environment "${request.environment}" makes none`;
    unmet.push({ field: `agents[${i}].agent`, description });
  }
  const field = `agents[${i}].model`;
  if (needsModel(agent)) {
    unmet.push(...modelPairs(request, part).map((description) => ({ field, description })));
  }
  return unmet;
}

/** Why the model that is bound to an agent will not do. */
function modelPairs(
  { capture }: RunRequest,
  { agent, model, binding }: AgentDescribed & { readonly binding: AgentBinding },
): string[] {
  if (model === undefined) return [`agent "${binding.agent}" needs a model, none is bound`];
  if (!has(model.service, Feature.GATEWAY)) return [`model "${binding.model}" opens no gateways`];
  const unmet: string[] = [];
  if (!agent.modelDialects.some((dialect) => model.dialects.includes(dialect))) {
    const speaks = `agent "${binding.agent}" speaks ${list(agent.modelDialects)}`;
    unmet.push(`${speaks}, the gateway of "${binding.model}" ${list(model.dialects)}`);
  }
  if (capture === CaptureLevel.TOKENS && !has(model.service, Feature.TOKEN_IDS)) {
    unmet.push(`model "${binding.model}" tells no tokens, and the run asks to capture them`);
  }
  return unmet;
}

function list(dialects: readonly ModelDialect[]): string {
  return dialects.map((dialect) => ModelDialect[dialect] ?? String(dialect)).join(", ") || "none";
}
