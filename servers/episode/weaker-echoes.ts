import {
  type Budget,
  NetworkMode,
  type NetworkPolicy,
  type SandboxRequirements,
  type SessionDescriptor,
  type Task,
} from "../../gen/index.js";
import { toMs } from "../runtime/duration.js";

/** Fields of a budget that are echoed weaker than asked. */
export function weakerBudget(asked: Budget | undefined, held: Budget | undefined): string[] {
  if (asked === undefined) return [];
  const bounds: [name: string, asked: number | bigint | undefined, held: number | bigint | undefined][] = [
    ["max_turns", asked.maxTurns, held?.maxTurns],
    ["max_tool_calls", asked.maxToolCalls, held?.maxToolCalls],
    ["max_output_tokens", asked.maxOutputTokens, held?.maxOutputTokens],
    ["max_total_tokens", asked.maxTotalTokens, held?.maxTotalTokens],
    ["max_context_tokens", asked.maxContextTokens, held?.maxContextTokens],
    ["max_cost_usd", asked.maxCostUsd, held?.maxCostUsd],
    ["wall_time", asked.wallTime && toMs(asked.wallTime), held?.wallTime && toMs(held.wallTime)],
  ];
  return bounds.flatMap(([name, a, h]) => (a !== undefined && (h === undefined || h > a) ? [name] : []));
}

/** What an environment echoes weaker than its task or the agents asked, or does not enforce, by name (EPI-RUN-020). */
export function weakerSession(
  session: SessionDescriptor,
  task: Task | undefined,
  needs: readonly SandboxRequirements[],
): string[] {
  const weaker: string[] = [];
  const asked = task?.limits?.maxSteps;
  const held = session.limits?.maxSteps;
  if (asked !== undefined && (held === undefined || held > asked))
    weaker.push("environment: limits.max_steps");
  if (session.network !== undefined) {
    const egress = needs.flatMap(({ egressHosts }) => egressHosts);
    if (isWider(session.network, task?.requirements?.network, egress)) weaker.push("environment: network");
  }
  // EPI-OUT-005
  for (const path of session.sandbox?.unenforced ?? []) weaker.push(`sandbox: ${path}`);
  return weaker;
}

/** Whether a box may reach more than its task allows and its agents need. Nothing asked is no network at all. */
function isWider(held: NetworkPolicy, asked: NetworkPolicy | undefined, egress: readonly string[]): boolean {
  const mode = asked?.mode ?? NetworkMode.NONE;
  if (mode === NetworkMode.OPEN) return false;
  switch (held.mode) {
    case NetworkMode.UNSPECIFIED:
    case NetworkMode.NONE:
      return false;
    case NetworkMode.ALLOW_LIST: {
      const allowed = new Set([
        ...(mode === NetworkMode.ALLOW_LIST ? (asked?.allowedHosts ?? []) : []),
        ...egress,
      ]);
      return held.allowedHosts.some((host) => !allowed.has(host));
    }
    default:
      // OPEN, or a mode that is not known here.
      return true;
  }
}
