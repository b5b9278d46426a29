import { resolve } from "node:path";
import { stringify } from "yaml";
import type { Config } from "../servers/composition/load-config.js";
import { redact } from "../servers/composition/redact.js";
import type { RunChanges, RunSettings } from "./run-settings.js";

/**
 * The text of `config.yaml`: the configuration with what the command line changed and the defaults that held. Variables
 * stay the references that they are and secrets are left out (field-case-130).
 */
export function resolvedConfig(
  config: Config,
  settings: RunSettings,
  changes: { readonly agent: string | undefined } & Pick<RunChanges, "tasks">,
): string {
  const { run } = config.written;
  const written = (run["agents"] ?? {}) as Record<string, unknown>;
  const [first = "agent"] = Object.keys(written);
  const resolved = {
    ...run,
    agents: changes.agent === undefined ? written : { ...written, [first]: changes.agent },
    ...(changes.tasks === undefined
      ? {}
      : { tasks: { ...(run["tasks"] as object), file: resolve(changes.tasks) } }),
    repeats: settings.repeats,
    concurrency: settings.concurrency,
    attempts: settings.attempts,
    max_retry_delay: run["max_retry_delay"] ?? "30s",
    breaker: settings.breaker,
    drain_timeout: run["drain_timeout"] ?? "30s",
    seed: settings.seed,
    on_agent_failure: settings.on_agent_failure,
    verify_attempts: settings.verify_attempts,
    capture: settings.capture,
  };
  return [
    `# ${config.file}, as this run used it. Paths are relative to that file's folder; secrets are left out.`,
    stringify(redact({ servers: config.written.servers, run: resolved })),
  ].join("\n");
}
