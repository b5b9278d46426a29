import type { z } from "zod";
import { invalidOutput } from "../../invalid-output.js";

/** A value of the upstream in the shape that it should have. Throws MODEL_INVALID_OUTPUT, naming where it has not. */
export function readJson<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues
    .slice(0, 3)
    .map(({ path, message }) => `${path.join(".")}: ${message}`);
  throw invalidOutput(`the upstream's answer cannot be read: ${problems.join("; ")}`);
}
