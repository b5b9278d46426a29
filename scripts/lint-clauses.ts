// What must hold of all clauses together: ids are given once and never again, scopes mean something.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { FileDescriptorSet } from "@bufbuild/protobuf/wkt";
import { parse } from "yaml";
import { z } from "zod";
import type { Clause } from "../conformance/catalogue/contract-clauses.js";

/** Ids that no clause may carry any more. */
export interface RemovedClauses {
  /** Old id to the id of the clause that says it now. */
  readonly merged: Readonly<Record<string, string>>;
  /** Ids whose rule is gone. */
  readonly dropped: readonly string[];
}

/** What the lint needs to know beside the clauses. */
export interface LintContext {
  /** Ids that are used up. */
  readonly removed: RemovedClauses;
  /** Names of the enum Feature, without prefix. */
  readonly features: ReadonlySet<string>;
}

const SHARED_AREA = "ALL";
const SERVICE_AREAS: ReadonlySet<string> = new Set(["ENV", "AGT", "MDL", "SBX", "EPI", "TRN"]);
const ALL_SERVICES = "EASMP";

/** Circumstances, as the head of identity.proto explains them. */
const CIRCUMSTANCES: ReadonlySet<string> = new Set([
  "process",
  "transport",
  "web",
  "sandboxed",
  "tool-access",
  "forwards",
  "allow-list",
  "limits",
  "tty",
  "snapshot",
  "pause",
  "single_agent_turn",
  "multi_turn",
  "harbor",
  "external",
]);

const removedSchema = z.strictObject({
  merged: z.record(z.string(), z.string()),
  dropped: z.array(z.string()),
});

/** Reads `removed-clauses.yaml` beside this file. */
export function readRemovedClauses(): RemovedClauses {
  return removedSchema.parse(parse(readFileSync(join(import.meta.dirname, "removed-clauses.yaml"), "utf8")));
}

/** Names of the contract's features, without `FEATURE_`. */
export function featureNames(set: FileDescriptorSet): ReadonlySet<string> {
  const declared = set.file
    .filter((file) => file.package === "touchstone.v1")
    .flatMap((file) => file.enumType)
    .find((descriptor) => descriptor.name === "Feature");
  return new Set(declared?.value.map((value) => value.name.replace(/^FEATURE_/, "")));
}

function scopeProblems(clause: Clause, features: ReadonlySet<string>): string[] {
  const found: string[] = [];
  const area = clause.id.slice(0, 3);
  if (area !== SHARED_AREA && !SERVICE_AREAS.has(area)) {
    found.push(`area ${area} is not one of ALL, ${[...SERVICE_AREAS].join(", ")}`);
  }
  if (area !== SHARED_AREA && clause.services !== "") {
    found.push(`(${clause.services}) is for ALL clauses only: this one binds the service of its area`);
  }
  const letters = new Set(clause.services);
  const known = [...letters].every((letter) => ALL_SERVICES.includes(letter));
  if (!known || letters.size !== clause.services.length || letters.size === ALL_SERVICES.length) {
    found.push(
      `(${clause.services}) must be some letters of ${ALL_SERVICES}, each once, and not all of them`,
    );
  }
  for (const condition of clause.conditions) {
    if (!features.has(condition) && !CIRCUMSTANCES.has(condition)) {
      found.push(`[${condition}] is no feature of Describe and no circumstance that identity.proto explains`);
    }
  }
  if (/[A-Z]{3}-[A-Z0-9]+-\d{3}/.test(clause.sentence)) {
    found.push(
      "its sentence holds an id: a clause that lost its dash, or a reference that belongs elsewhere",
    );
  }
  return found;
}

/** One sentence for each thing that is wrong; empty: nothing is. */
export function lintClauses(clauses: readonly Clause[], { removed, features }: LintContext): string[] {
  const problems: string[] = [];
  const first = new Map<string, Clause>();
  for (const clause of clauses) {
    const before = first.get(clause.id);
    if (before === undefined) {
      first.set(clause.id, clause);
    } else {
      problems.push(`${clause.id} is in ${before.file} and in ${clause.file}: keep it where it binds.`);
    }
    if (clause.id in removed.merged || removed.dropped.includes(clause.id)) {
      problems.push(`${clause.id} in ${clause.file} was removed and is never used again: take a new number.`);
    }
    problems.push(
      ...scopeProblems(clause, features).map((problem) => `${clause.id} in ${clause.file}: ${problem}.`),
    );
  }
  for (const [old, now] of Object.entries(removed.merged)) {
    if (!first.has(now)) {
      problems.push(`removed-clauses.yaml says that ${old} is now in ${now}, which is no clause.`);
    }
  }
  return problems;
}
