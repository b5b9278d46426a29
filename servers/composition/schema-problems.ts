import { closest, distance } from "fastest-levenshtein";
import { z } from "zod";
import type { Problem } from "./problem.js";

/** A misspelling has at most this share of its letters wrong; what is further off is no hint. */
const farthestHint = 0.5;

/** ` did you mean "x"?` where a known name is near, else the list of what is known. */
export function nearest(name: string, known: readonly string[]): string {
  if (known.length === 0) return "";
  const near = closest(name, known);
  return distance(name, near) <= Math.max(2, farthestHint * near.length)
    ? `; did you mean "${near}"?`
    : `; known: ${known.join(", ")}`;
}

/** What a schema finds wrong, the nearest known key beside an unknown one (EPI-E8-001, field-case-105). */
export function problemsOf(error: z.ZodError, schema: z.ZodType, at: readonly PropertyKey[]): Problem[] {
  return error.issues.flatMap((issue) => problemsOfIssue(issue, schema, at));
}

function problemsOfIssue(issue: z.core.$ZodIssue, schema: unknown, at: readonly PropertyKey[]): Problem[] {
  const path = [...at, ...issue.path];
  const inner = schemaAt(schema, issue.path);
  if (issue.code === "unrecognized_keys") {
    const known = inner instanceof z.ZodObject ? Object.keys(inner.shape) : [];
    return issue.keys.map((key) => ({ path: [...path, key], text: `unknown key${nearest(key, known)}` }));
  }
  if (issue.code === "invalid_union") {
    const [best] = issue.errors
      .map((issues, i) => ({ issues, i }))
      .sort((a, b) => badness(a.issues) - badness(b.issues));
    if (best !== undefined && best.issues.length > 0) {
      const branch = inner instanceof z.ZodUnion ? inner.options[best.i] : undefined;
      return best.issues.flatMap((each) => problemsOfIssue(each, branch, path));
    }
  }
  if (issue.code === "invalid_key") {
    return issue.issues.map((each) => ({ path, text: said(each.message) }));
  }
  return [{ path, text: said(issue.message) }];
}

/** How far a value is from a branch of a union: another type altogether is further than any number of bad fields. */
function badness(issues: readonly z.core.$ZodIssue[]): number {
  let sum = 0;
  for (const issue of issues) {
    if (issue.code === "invalid_type" && issue.path.length === 0) sum += 1000;
    else if (issue.code === "invalid_union" && issue.errors.length > 0)
      sum += Math.min(...issue.errors.map(badness));
    else if (issue.code === "invalid_type" && issue.message.endsWith("received undefined")) sum += 2;
    else if (issue.code === "unrecognized_keys") sum += 2 * issue.keys.length;
    else sum += 1;
  }
  return sum;
}

/** The library's words in ours: `expected string, found number`. */
function said(message: string): string {
  return message
    .replace(/^Invalid (input|option): /, "")
    .replace(/, received undefined$/, ", found nothing")
    .replace(/, received /, ", found ");
}

/** The schema that judges the value at a path; undefined where none is known. */
function schemaAt(schema: unknown, path: readonly PropertyKey[]): unknown {
  let at = unwrapped(schema);
  for (const part of path) {
    if (at instanceof z.ZodObject) at = at.shape[String(part)];
    else if (at instanceof z.ZodArray) at = at.element;
    else if (at instanceof z.ZodRecord) at = at.valueType;
    else return undefined;
    at = unwrapped(at);
  }
  return at;
}

function unwrapped(schema: unknown): unknown {
  let at = schema;
  while (at instanceof z.ZodOptional || at instanceof z.ZodDefault || at instanceof z.ZodPipe) {
    at = at instanceof z.ZodPipe ? at.in : at.unwrap();
  }
  return at;
}
