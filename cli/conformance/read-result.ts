import { readFileSync } from "node:fs";
import type { z } from "zod";
import { type RunResult, runResultSchema } from "../../conformance/runner/result.js";
import { ConfigError } from "../../servers/composition/config-error.js";

/** A document of the suite, checked by its schema. Throws ConfigError. */
export function readDocument<T>(path: string, schema: z.ZodType<T>, what: string): T {
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw new ConfigError([
      `${path} cannot be read as JSON: ${error instanceof Error ? error.message : String(error)}`,
    ]);
  }
  const read = schema.safeParse(json);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw new ConfigError([`${path} is no ${what}: ${issue?.path.join(".") ?? ""}: ${issue?.message ?? ""}`]);
}

/** A result document, as `conformance run --json` writes it. Throws ConfigError. */
export function readResult(path: string): RunResult {
  return readDocument(path, runResultSchema, "result of `conformance run --json`");
}
