import { ConfigError } from "../servers/composition/config-error.js";
import type { Config } from "../servers/composition/load-config.js";
import { redact } from "../servers/composition/redact.js";
import { serverKinds } from "../servers/composition/server-schema.js";
import { tasksDigest } from "./plan.js";
import { type RunSettings, serversOf } from "./run-settings.js";
import type { PlacedTask } from "./task-set.js";

/** Settings that only say how a run is worked through, and where its tasks are, which their digest tells better. */
const workedThrough = new Set([
  "concurrency",
  "attempts",
  "max_retry_delay",
  "breaker",
  "drain_timeout",
  "tasks",
  "players",
]);
/** Settings that the command line may change; none of them is a text of the user. */
const changeable = new Set(["agents", "repeats"]);

/**
 * What makes a run the run that it is, by name. What only says how it is worked through (concurrency, attempts, timeouts,
 * where servers listen) is left out: it may change when a run goes on.
 */
export function runIdentity(config: Config, settings: RunSettings, tasks: readonly PlacedTask[]): string {
  const decided: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(settings)) {
    if (workedThrough.has(key)) continue;
    // What the command line may change is as it was decided; all else as it was written, since a variable may be a secret.
    const written = changeable.has(key) ? undefined : config.written.run[key];
    decided[key] = written === undefined ? value : redact(written);
  }
  const servers = Object.fromEntries(
    serversOf(config, settings).map((name) => {
      const written = (redact(config.written.servers[name]) ?? {}) as Record<string, unknown>;
      const kept = [...Object.keys(serverKinds), "options"].filter((key) => key in written);
      return [name, Object.fromEntries(kept.map((key) => [key, written[key]]))];
    }),
  );
  return JSON.stringify({ tasks: tasksDigest(tasks), run: decided, servers });
}

/** Refuses to go on with a run as another one. Throws ConfigError that names what differs. */
export function checkIdentity(folder: string, before: string, now: string): void {
  const differing = differences(JSON.parse(before), JSON.parse(now), "");
  if (differing.length === 0) return;
  throw new ConfigError([
    `${folder}: the run there differs in ${differing.join(", ")}; resume it with the same, or choose another --out`,
  ]);
}

function differences(before: unknown, now: unknown, path: string): string[] {
  if (isObject(before) && isObject(now)) {
    return [...new Set([...Object.keys(before), ...Object.keys(now)])].flatMap((key) =>
      differences(before[key], now[key], path === "" ? key : `${path}.${key}`),
    );
  }
  return JSON.stringify(before) === JSON.stringify(now) ? [] : [path];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
