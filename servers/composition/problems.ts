import { closest } from "fastest-levenshtein";
import type { z } from "zod";

/** The path of a field as people write it: `servers.maths.options[0]`. */
function pathText(path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (text, part) =>
      typeof part === "number" ? `${text}[${part}]` : text === "" ? String(part) : `${text}.${String(part)}`,
    "",
  );
}

/** A schema whose keys are known, so that a misspelt one can be told the nearest. */
interface Keyed {
  readonly shape?: Record<string, unknown>;
}

/**
 * What a schema finds wrong, one line each, the nearest known key beside an unknown one (EPI-E8-001, field-case-105).
 */
export function problemsOf(error: z.ZodError, schema: z.ZodType, at: readonly PropertyKey[]): string[] {
  return error.issues.flatMap((issue) => problemsOfIssue(issue, schema, at));
}

function problemsOfIssue(issue: z.core.$ZodIssue, schema: z.ZodType, at: readonly PropertyKey[]): string[] {
  const path = [...at, ...issue.path];
  if (issue.code === "unrecognized_keys") {
    const known = Object.keys(keysAt(schema, issue.path).shape ?? {});
    return issue.keys.map((key) => {
      const near = known.length > 0 ? `; did you mean "${closest(key, known)}"?` : "";
      return `${pathText([...path, key])}: unknown key${near}`;
    });
  }
  if (issue.code === "invalid_union") {
    // The branch that came nearest has the fewest problems.
    const [best] = issue.errors.toSorted((a, b) => a.length - b.length);
    if (best !== undefined && best.length > 0)
      return best.flatMap((inner) => problemsOfIssue(inner, schema, path));
  }
  return [`${pathText(path)}: ${issue.message}`];
}

function keysAt(schema: z.ZodType, path: readonly PropertyKey[]): Keyed {
  let at: unknown = schema;
  for (const part of path) {
    at = unwrapped(at);
    at = (at as Keyed).shape?.[String(part)];
  }
  return (unwrapped(at) ?? {}) as Keyed;
}

function unwrapped(schema: unknown): unknown {
  let at = schema as { unwrap?: () => unknown; shape?: unknown } | undefined;
  while (at !== undefined && at.shape === undefined && typeof at.unwrap === "function") {
    at = at.unwrap() as typeof at;
  }
  return at;
}
