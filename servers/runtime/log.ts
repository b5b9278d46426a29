import { pino } from "pino";

/** A structured log. */
export type Logger = pino.Logger;

/** How much is logged, least first. */
export const logLevels = ["silent", "error", "warn", "info", "debug"] as const;
export type LogLevel = (typeof logLevels)[number];

/** Names under which a credential may travel; their values never reach a log (field-case-130). */
const secretNames = [
  "authorization",
  "api_key",
  "apiKey",
  "bearer_token",
  "bearerToken",
  "token",
  "credential",
  "password",
  "secret",
];

/** A log as JSON lines on standard error. Requests and answers are never logged whole, errors by their message. */
export function createLogger(level: LogLevel): Logger {
  return pino(
    {
      level,
      base: null,
      redact: {
        paths: secretNames.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]),
        censor: "[redacted]",
      },
    },
    pino.destination({ dest: 2, sync: true }),
  );
}

/** Logs an error that nobody foresaw. What was thrown may be anything; one that cannot be shown is told without itself. */
export function logError(log: Logger, facts: Readonly<Record<string, unknown>>, error: unknown): void {
  try {
    log.error({ ...facts, err: error }, "unexpected error");
  } catch {
    log.error({ ...facts }, "unexpected error, which itself cannot be shown");
  }
}
