import { nearest } from "../runtime/nearest.js";
import { type Problem, pathText } from "../runtime/problem.js";
import { problemsOf } from "../runtime/schema-problems.js";
import type { Players } from "./players.js";
import { type RunConfig, runSchema } from "./run-schema.js";
import type { ServerEntry, ServerKind } from "./server-schema.js";

/** Reads what a run is to do; undefined where it has problems. */
export function checkRun(run: unknown, problems: Problem[], at: readonly string[]): RunConfig | undefined {
  const parsed = runSchema.safeParse(run);
  if (parsed.success) return parsed.data;
  problems.push(...problemsOf(parsed.error, runSchema, at));
  return undefined;
}

interface NamesContext {
  readonly problems: Problem[];
  /** Where the run stands in the configuration. */
  readonly at: readonly string[];
  /** Whose names it gives. */
  readonly names: Players["names"];
}

/**
 * Every name that a run uses must be a server of the right kind (field-case-107). Where its episodes are played elsewhere,
 * names that are not of this configuration are the other side's, and it may have no agents (EPI-RUN-013).
 */
export function checkNames(
  run: RunConfig,
  servers: ReadonlyMap<string, ServerEntry>,
  { problems, at, names }: NamesContext,
): void {
  const need = (path: readonly string[], name: string, kind: ServerKind): void => {
    if (servers.get(name)?.kind === kind) return;
    const known = [...servers].filter(([, entry]) => entry.kind === kind).map(([known]) => known);
    const hint = known.length === 0 ? "; there is none" : nearest(name, known);
    problems.push({ path: [...at, ...path], text: `no ${kind} server "${name}"${hint}` });
  };
  need(["driver"], run.driver, "episode");
  const ours = names === "ours";
  if (run.environment === undefined && names !== "nobody")
    problems.push({
      path: [...at, "environment"],
      text: "expected the name of an environment server, found nothing",
    });
  if (ours && Object.keys(run.agents).length === 0)
    problems.push({ path: [...at, "agents"], text: "expected at least one agent, found none" });
  const needOurs: typeof need = (...needed) => {
    if (ours) need(...needed);
  };
  if (run.environment !== undefined) needOurs(["environment"], run.environment, "environment");
  for (const [agentId, name] of Object.entries(run.agents)) needOurs(["agents", agentId], name, "agent");
  for (const [agentId, name] of Object.entries(run.models)) {
    needOurs(["models", agentId], name, "model");
    if (!Object.hasOwn(run.agents, agentId)) {
      const text = `${pathText(at)}.agents has no agent_id "${agentId}"${nearest(agentId, Object.keys(run.agents))}`;
      problems.push({ path: [...at, "models", agentId], text });
    }
  }
  if (run.sandbox !== undefined) needOurs(["sandbox"], run.sandbox, "sandbox");
}
