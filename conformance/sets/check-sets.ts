import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { suitePackage } from "../catalogue/package-root.js";
import { profiles } from "../catalogue/profile.js";
import type { CheckSet } from "../report/certificate.js";

const setSchema = z.strictObject({
  /** Certificates by it are valid no longer. */
  retired: z.boolean().default(false),
  /** Check ids of each profile. */
  checks: z.partialRecord(z.enum(profiles), z.array(z.string())),
});

/** What may be taken out of a set after it was frozen, and why; nothing may be added. */
const errataSchema = z.array(
  z.strictObject({
    check: z.string(),
    date: z.iso.date(),
    /** What was said against the check. */
    claim: z.string().min(1),
    /** The experiment that isolates it. */
    experiment: z.string().min(1),
    ruling: z.string().min(1),
  }),
);

/** What was taken out of a set. */
export type Errata = z.infer<typeof errataSchema>;

const folder = join(suitePackage.folder, "conformance", "sets");

/** Names of the sets of this suite, oldest first. */
export function setNames(): string[] {
  return readdirSync(folder)
    .filter((file) => /^\d{4}-\d{2}\.yaml$/.test(file))
    .map((file) => file.replace(".yaml", ""))
    .sort();
}

/** Challenges that took checks out of a set. */
export function readErrata(name: string): Errata {
  const path = join(folder, `${name}.errata.yaml`);
  return existsSync(path) ? errataSchema.parse(parse(readFileSync(path, "utf8")) ?? []) : [];
}

/** A set by its name; undefined: there is none. */
export function readSet(name: string): CheckSet | undefined {
  if (!setNames().includes(name)) return undefined;
  const text = readFileSync(join(folder, `${name}.yaml`), "utf8");
  const { checks, retired } = setSchema.parse(parse(text));
  const excluded = new Set(readErrata(name).map(({ check }) => check));
  return {
    name,
    retired,
    digest: createHash("sha256").update(text).digest("hex"),
    checksOf: (profile) => new Set((checks[profile] ?? []).filter((check) => !excluded.has(check))),
  };
}

/** The newest set, by which runs are scored. */
export function currentSet(): CheckSet {
  const newest = setNames().at(-1);
  const set = newest === undefined ? undefined : readSet(newest);
  if (set === undefined) throw new Error("conformance/sets has no set");
  return set;
}
