import { z } from "zod";
import { nearest } from "./nearest.js";
import type { Problem } from "./problem.js";

/** What a schema finds wrong, the nearest known key beside an unknown one (EPI-E8-001, field-case-105). */
export function problemsOf(error: z.ZodError, schema: z.ZodType, at: readonly PropertyKey[]): Problem[] {
  return error.issues.flatMap((issue) => problemsOfIssue(issue, branches(schema), at));
}

/** `known`: the schemas that may judge the value at `at`; several where it is a union. */
function problemsOfIssue(
  issue: z.core.$ZodIssue,
  known: readonly unknown[],
  at: readonly PropertyKey[],
): Problem[] {
  const path = [...at, ...issue.path];
  const there = issue.path.reduce<readonly unknown[]>(
    (schemas, part) => schemas.flatMap((schema) => branches(partOf(schema, part))),
    known,
  );
  if (issue.code === "unrecognized_keys") {
    const keys = there.flatMap((schema) => (schema instanceof z.ZodObject ? Object.keys(schema.shape) : []));
    return issue.keys.map((key) => ({ path: [...path, key], text: `unknown key${nearest(key, keys)}` }));
  }
  if (issue.code === "invalid_union") {
    const [best = []] = issue.errors.toSorted((a, b) => badness(a) - badness(b));
    if (best.length > 0) return best.flatMap((each) => problemsOfIssue(each, there, path));
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

/** The schema of a part of an object, a list or a map; undefined where none is known. */
function partOf(schema: unknown, part: PropertyKey): unknown {
  if (schema instanceof z.ZodObject) return schema.shape[String(part)];
  if (schema instanceof z.ZodArray) return schema.element;
  if (schema instanceof z.ZodRecord) return schema.valueType;
  return undefined;
}

/** The schemas that a schema comes down to: what it wraps, and of a union each of its branches. */
function branches(schema: unknown): readonly unknown[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) return branches(schema.unwrap());
  if (schema instanceof z.ZodPipe) return branches(schema.in);
  if (schema instanceof z.ZodUnion) return schema.options.flatMap(branches);
  return schema === undefined ? [] : [schema];
}
