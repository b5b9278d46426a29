import { definedFields } from "../runtime/defined-fields.js";
import type { Limits } from "../runtime/limits.js";
import type { ServerEntry } from "./server-schema.js";

/** The bounds that an entry sets. */
export function limitsOf({ kind, entry }: ServerEntry): Partial<Limits> {
  if (kind === "episode") {
    return definedFields({
      maxSessions: entry.max_concurrent_episodes,
      queueTimeoutMs: entry.queue_timeout,
      maxMessageBytes: entry.max_message_bytes,
    });
  }
  return definedFields({
    maxSessions: entry.max_sessions,
    queueTimeoutMs: entry.queue_timeout,
    maxLifetimeMs: entry.max_lifetime,
    maxMessageBytes: entry.max_message_bytes,
  });
}
