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

/** An error that is logged, with what the log says beside it: `server`, `what` was done, the `session`. */
export type LoggedFault = Readonly<Record<string, unknown>> & { readonly err: unknown };

/**
 * A log as JSON lines on standard error. Requests and answers are never logged whole, errors by their message. Errors
 * that are told to `onFault` make no lines at level `error`: whoever takes them tells them in its own way.
 */
export function createLogger(level: LogLevel, onFault?: (fault: LoggedFault) => void): Logger {
  return pino(
    {
      level,
      base: null,
      redact: {
        paths: secretNames.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]),
        censor: "[redacted]",
      },
      hooks: {
        logMethod(args, method) {
          const facts: unknown = args[0];
          const told = onFault !== undefined && isFault(facts);
          if (told) onFault({ ...this.bindings(), ...facts });
          if (!told || level !== "error") method.apply(this, args);
        },
      },
    },
    pino.destination({ dest: 2, sync: true }),
  );
}

function isFault(facts: unknown): facts is LoggedFault {
  return typeof facts === "object" && facts !== null && "err" in facts;
}

/** Logs an error that nobody foresaw. What was thrown may be anything; one that cannot be shown is told without itself. */
export function logError(log: Logger, facts: Readonly<Record<string, unknown>>, error: unknown): void {
  try {
    log.error({ ...facts, err: error }, "unexpected error");
  } catch {
    log.error({ ...facts }, "unexpected error, which itself cannot be shown");
  }
}
