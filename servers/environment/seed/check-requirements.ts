import {
  type AgentRequirements,
  Placement,
  type SandboxRequirements,
  type Task,
} from "../../../gen/index.js";
import { type FieldViolation, Refusal } from "../../runtime/refusal.js";

/** A world without a box meets no requirement on one; each is named (ENV-REQ-001, -002, -005, -006). */
export function checkRequirements(
  task: Task,
  ofAgents: readonly AgentRequirements[],
  agentIds: readonly string[],
): void {
  const unmet: FieldViolation[] = [];
  const need = (field: string, needed: boolean, what: string): void => {
    if (needed) unmet.push({ field, description: `${what}, and this environment makes no sandbox` });
  };
  const known = agentIds.map((agentId) => `"${agentId}"`).join(", ");
  const { requirements } = task;
  if (requirements !== undefined) {
    const { placement } = requirements;
    need(
      "task.requirements.placement",
      placement !== Placement.UNSPECIFIED && placement !== Placement.NONE,
      `placement ${Placement[placement] ?? placement} is required`,
    );
    need("task.requirements.image", requirements.image !== "", "an image is required");
    need("task.requirements.resources", requirements.resources !== undefined, "resources are required");
    need("task.requirements.network", requirements.network !== undefined, "a network is required");
    if (requirements.agents.some((agent) => !agentIds.includes(agent))) {
      unmet.push({
        field: "task.requirements.agents",
        description: `agents ${requirements.agents.join(", ")} are required; here there are: ${known}`,
      });
    }
  }
  ofAgents.forEach(({ agentId, requirements: needs }, i) => {
    const field = `agent_requirements[${i}]`;
    if (!agentIds.includes(agentId)) {
      unmet.push({
        field: `${field}.agent_id`,
        description: `there is no agent "${agentId}"; there are: ${known}`,
      });
    }
    for (const [path, what] of needsOf(needs)) need(`${field}.requirements${path}`, true, what);
  });
  if (unmet.length > 0) {
    const text = unmet.map(({ field, description }) => `${field}: ${description}`).join("; ");
    throw new Refusal("UNSATISFIED_REQUIREMENT", text, { violations: unmet });
  }
}

/** Everything that an agent asks of its box, each with its path below `requirements`; a box alone is the least of it. */
function needsOf(needs: SandboxRequirements | undefined): [path: string, what: string][] {
  if (needs === undefined) return [];
  const each: [string, string][] = [
    ...needs.mounts.map(({ name }, i): [string, string] => [`.mounts[${i}]`, `mount "${name}" is required`]),
    ...needs.ports.map((port, i): [string, string] => [`.ports[${i}]`, `port ${port} is required`]),
    ...needs.egressHosts.map((host, i): [string, string] => [
      `.egress_hosts[${i}]`,
      `egress to "${host}" is required`,
    ]),
  ];
  if (needs.resources !== undefined) each.push([".resources", "resources are required"]);
  return each.length > 0 ? each : [["", "the agent needs a sandbox"]];
}
