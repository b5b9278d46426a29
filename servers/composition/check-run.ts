import type { Problem } from "./problem.js";
import { type RunConfig, runSchema } from "./run-schema.js";
import { nearest, problemsOf } from "./schema-problems.js";
import type { ServerEntry, ServerKind } from "./server-schema.js";

/** Reads what a run is to do; undefined where it has problems. */
export function checkRun(run: unknown, problems: Problem[], at: readonly string[]): RunConfig | undefined {
  const parsed = runSchema.safeParse(run);
  if (parsed.success) return parsed.data;
  problems.push(...problemsOf(parsed.error, runSchema, at));
  return undefined;
}

/** Every name that a run uses must be a server of the right kind (field-case-107). */
export function checkNames(
  run: RunConfig,
  servers: ReadonlyMap<string, ServerEntry>,
  { problems, at }: { readonly problems: Problem[]; readonly at: readonly string[] },
): void {
  const need = (path: readonly string[], name: string, kind: ServerKind): void => {
    if (servers.get(name)?.kind === kind) return;
    const known = [...servers].filter(([, entry]) => entry.kind === kind).map(([known]) => known);
    const hint = known.length === 0 ? "; there is none" : nearest(name, known);
    problems.push({ path: [...at, ...path], text: `no ${kind} server "${name}"${hint}` });
  };
  need(["driver"], run.driver, "episode");
  need(["environment"], run.environment, "environment");
  for (const [agentId, name] of Object.entries(run.agents)) need(["agents", agentId], name, "agent");
  for (const [agentId, name] of Object.entries(run.models)) {
    need(["models", agentId], name, "model");
    if (!Object.hasOwn(run.agents, agentId)) {
      const text = `${at.join(".")}.agents has no agent_id "${agentId}"${nearest(agentId, Object.keys(run.agents))}`;
      problems.push({ path: [...at, "models", agentId], text });
    }
  }
  if (run.sandbox !== undefined) need(["sandbox"], run.sandbox, "sandbox");
}
