import { createHash } from "node:crypto";
import { Feature } from "../../gen/index.js";
import type { Catalogue, CatalogueEntry } from "../catalogue/catalogue.js";
import { suitePackage } from "../catalogue/package-root.js";
import type { Profile } from "../catalogue/profile.js";
import type { ConformanceFile } from "../fixture/conformance-file.js";
import { excuse } from "./excuse.js";
import { anyCheck, type PlanContext, skipped } from "./plan.js";
import type { SubjectIdentity } from "./profile-suite.js";
import type { BlockingCause, Coverage, RunResult, RunVerdict } from "./result.js";
import { type CheckResult, incompleteVerdicts, type Verdict, verdicts } from "./verdict.js";

/** What a run was. */
export interface RunFacts {
  readonly catalogue: Catalogue;
  readonly profile: Profile;
  readonly file: ConformanceFile;
  /** Without secrets. */
  readonly url: string;
  readonly seed: string;
  readonly patterns: readonly string[];
  readonly startedAt: string;
  readonly elapsed: () => number;
}

/** What it found; a run that was blocked found less. */
export interface Found {
  readonly identity?: SubjectIdentity | undefined;
  readonly blocked?: { readonly cause: BlockingCause; readonly reason: string };
  readonly results?: readonly CheckResult[];
  readonly findings?: RunResult["findings"];
  readonly plan?: PlanContext;
}

/** The result document of a run. */
export function assembleResult(facts: RunFacts, found: Found): RunResult {
  const { catalogue, profile, file, url, seed, patterns, startedAt, elapsed } = facts;
  const { identity, blocked, plan } = found;
  const { results, faults } = excuse(
    found.results ?? [],
    plan === undefined ? [] : file.known_failing,
    startedAt.slice(0, 10),
  );
  const findings = [...(found.findings ?? []), ...faults];
  const counts = countVerdicts(results);
  return {
    schema: 1,
    suite: { version: suitePackage.version, catalogueDigest: catalogue.digest },
    profile,
    subject: {
      name: identity?.name ?? "",
      version: identity?.version ?? "",
      instanceId: identity?.instanceId ?? "",
      contractVersion: identity?.contractVersion ?? "",
      features: [...(identity?.features ?? [])].map((feature) => Feature[feature] ?? String(feature)).sort(),
      target: url,
    },
    fixtureDigest: digestOf(file),
    seed,
    patterns: [...patterns],
    startedAt,
    took: Math.round(elapsed()),
    verdict: faults.length > 0 ? "not-conformant" : verdictOf(counts, blocked !== undefined),
    excused: file.known_failing.map(({ check }) => check),
    blocked: blocked ?? blockedBy(results),
    coverage: coverageOf({ catalogue, profile, plan, results }),
    counts,
    checks: [...results].sort((a, b) => (`${a.check}/${a.stack}` < `${b.check}/${b.stack}` ? -1 : 1)),
    findings,
  };
}

/** sha256 of what a conformance.yaml says, values of secrets apart. */
function digestOf(file: ConformanceFile): string {
  const text = JSON.stringify({ ...file, headers: Object.keys(file.headers) }, (_key, value: unknown) =>
    typeof value === "bigint" ? String(value) : value,
  );
  return createHash("sha256").update(text).digest("hex");
}

function countVerdicts(results: readonly CheckResult[]): Record<Verdict, number> {
  const counts = Object.fromEntries(verdicts.map((verdict) => [verdict, 0])) as Record<Verdict, number>;
  for (const { verdict } of results) counts[verdict] += 1;
  return counts;
}

/** A failure stands whatever else happened; a run is green only where all that ran came to its end. */
function verdictOf(counts: Record<Verdict, number>, blocked: boolean): RunVerdict {
  if (blocked) return "incomplete";
  if (counts.fail + counts["not-testable"] > 0) return "not-conformant";
  const incomplete = [...incompleteVerdicts].some((verdict) => counts[verdict] > 0);
  return incomplete || counts.pass === 0 ? "incomplete" : "conformant";
}

function blockedBy(results: readonly CheckResult[]): RunResult["blocked"] {
  const first = results.find(({ verdict }) => incompleteVerdicts.has(verdict));
  if (first === undefined) {
    return results.some(({ verdict }) => verdict === "pass" || verdict === "fail")
      ? null
      : { cause: "fixture", reason: "no check judged anything" };
  }
  const cause: BlockingCause = first.verdict === "harness-error" ? "harness" : "subject";
  return { cause, reason: `${first.check}: ${first.reason.split("\n")[0] ?? ""}` };
}

function coverageOf(of: {
  readonly catalogue: Catalogue;
  readonly profile: Profile;
  readonly plan: PlanContext | undefined;
  readonly results: readonly CheckResult[];
}): Coverage {
  const { plan, results } = of;
  const musts = [...of.catalogue.entries.values()].filter(
    ({ level, profiles }) => level === "MUST" && profiles.includes(of.profile),
  );
  const observable = musts.filter(({ unobservable }) => unobservable === undefined);
  const applicable =
    plan === undefined
      ? observable
      : observable.filter((entry) => skipped(anyCheck, entry, plan) === undefined);
  const judged = new Set(
    results.filter(({ verdict }) => verdict === "pass" || verdict === "fail").map(({ clause }) => clause),
  );
  const open = applicable.filter(
    ({ id }) =>
      !judged.has(id) && !results.some((one) => one.clause === id && one.verdict === "not-applicable"),
  );
  return {
    catalogue: musts.length,
    observable: observable.length,
    applicable: applicable.length,
    judged: applicable.filter(({ id }) => judged.has(id)).length,
    missing: open.map((entry) => ({ clause: entry.id, opens: openedBy(entry, of.profile, results) })),
  };
}

/** What would have let a clause be judged. */
function openedBy(entry: CatalogueEntry, profile: Profile, results: readonly CheckResult[]): string {
  const told = results.find(({ clause, reason }) => clause === entry.id && reason !== "");
  if (told !== undefined) return told.reason.split("\n")[0] ?? "";
  return entry.planned?.[profile] ?? "no check of this suite judges it yet";
}
