import { createHash, randomBytes } from "node:crypto";
import { Feature } from "../../gen/index.js";
import { type Catalogue, type CatalogueEntry, readCatalogue } from "../catalogue/catalogue.js";
import { suitePackage } from "../catalogue/package-root.js";
import type { Profile } from "../catalogue/profile.js";
import type { Check, Lane } from "../check/check.js";
import { Finding, MissingFixture } from "../check/finding.js";
import { openTrial } from "../check/trial.js";
import { beginWatch, type Watching } from "../check/watch.js";
import type { ConformanceFile } from "../fixture/conformance-file.js";
import type { Stack, Target } from "../subject/connection.js";
import { wireLog } from "../subject/wire-log.js";
import { chosen } from "./pattern.js";
import { anyCheck, type PlanContext, skipped } from "./plan.js";
import type { SubjectIdentity } from "./profile-suite.js";
import type { BlockingCause, Coverage, RunResult, RunVerdict } from "./result.js";
import { noOutcome, type Outcome, outcomeOf, type RunContext, runCheck } from "./run-check.js";
import { shuffle } from "./shuffle.js";
import { suiteOf } from "./suites.js";
import { type CheckResult, incompleteVerdicts, type Verdict } from "./verdict.js";

/** How a run is made. */
export interface ConformanceOptions {
  readonly profile: Profile;
  readonly target: Target;
  readonly file: ConformanceFile;
  /** Check ids or clauses, `*` for anything. Empty: all. */
  readonly patterns?: readonly string[];
  /** Order of the checks. Absent: a new one, told in the result. */
  readonly seed?: string;
  /** One after the other. */
  readonly serial?: boolean;
  readonly allowDestructive?: boolean;
  readonly slow?: boolean;
  /** Skips the smoke stage: for the suite's own tests. */
  readonly smoke?: boolean;
  /** Circumstances that Describe does not tell, such as `process`. */
  readonly circumstances?: readonly string[];
  /** Hears each verdict as it falls. */
  readonly onCheck?: (result: CheckResult, of: { readonly done: number; readonly all: number }) => void;
  /** Ends the run; what did not run could not run. */
  readonly signal?: AbortSignal;
}

/** A check on one stack, or the reason why it does not run. */
interface Planned {
  readonly check: Check<unknown>;
  readonly entry: CatalogueEntry;
  readonly stack: Stack;
}

/** Lanes in the order in which they run, with how many of their checks run at once. */
const lanes: readonly { readonly lane: Lane; readonly width: (concurrency: number) => number }[] = [
  { lane: "parallel", width: (concurrency) => concurrency },
  { lane: "waiting", width: () => 64 },
  { lane: "alone", width: () => 1 },
  { lane: "capacity", width: () => 1 },
];

const smokeSeconds = 10;

/** Judges a subject by the checks of a profile. */
export async function runConformance(options: ConformanceOptions): Promise<RunResult> {
  const { profile, file, target } = options;
  const origin = performance.now();
  const elapsed = (): number => performance.now() - origin;
  const catalogue = readCatalogue();
  const suite = suiteOf(profile);
  const runId = randomBytes(6).toString("hex");
  const seed = options.seed ?? runId;
  const signal = options.signal ?? new AbortController().signal;
  const report = reportOf({ catalogue, options, seed, elapsed });

  const lack = suite.lacks(file);
  if (lack !== undefined) return report({ blocked: { cause: "fixture", reason: lack } });

  const probe = openTrial({
    entry: { ...anyEntry(catalogue), id: "smoke" },
    target,
    stack: "connect-node",
    signal: AbortSignal.any([signal, AbortSignal.timeout(smokeSeconds * 1_000 * file.time_scale)]),
    log: wireLog(elapsed, Object.values(target.headers)),
    prefix: `${runId}-smoke`,
    timeScale: file.time_scale,
    onSeen: () => undefined,
  });
  let described: unknown;
  let identity: SubjectIdentity | undefined;
  try {
    described = await suite.describe(probe.trial);
    identity = suite.identity(described);
    if (options.smoke !== false) await suite.smoke(suite.trial(probe.trial, file, described));
  } catch (error) {
    return report({ identity, blocked: smokeBlocked(error) });
  } finally {
    for (const connection of probe.connections) connection.cut();
  }

  const plan: PlanContext = {
    features: identity.features,
    circumstances: new Set([...identity.circumstances, ...(options.circumstances ?? [])]),
    storms: file.storms,
    destructive: options.allowDestructive ?? false,
    slow: options.slow ?? false,
  };
  const results: CheckResult[] = [];
  const findings: { check: string; text: string }[] = [];
  const toRun: Planned[] = [];
  const selected = suite.checks.filter((check) => chosen(options.patterns ?? [], check));
  const all = selected.reduce((sum, check) => sum + check.stacks.length, 0);
  const land = (result: CheckResult): void => {
    results.push(result);
    options.onCheck?.(result, { done: results.length, all });
  };
  for (const check of selected) {
    const entry = entryOf(catalogue, check);
    const skip = skipped(check, entry, plan);
    for (const stack of check.stacks) {
      if (skip === undefined) toRun.push({ check, entry, stack });
      else land(notRun({ check, stack }, skip));
    }
  }
  const watching = suite
    .watches(described)
    .filter((one) => chosen(options.patterns ?? [], one))
    .map((one) => beginWatch(one, entryOf(catalogue, one)));
  const context: RunContext<unknown, unknown> = {
    suite,
    target,
    file,
    described,
    runId,
    timeScale: file.time_scale,
    elapsed,
    signal,
    onSeen: (seen) => {
      for (const one of watching) one.see(seen);
    },
  };
  const concurrency = options.serial === true ? 1 : file.concurrency;
  for (const { lane, width } of lanes) {
    const queue = shuffle(
      toRun.filter(({ check }) => check.lane === lane),
      ({ check, stack }) => `${check.id}/${stack}`,
      seed,
    );
    await pool(queue, options.serial === true ? 1 : width(concurrency), async ({ check, entry, stack }) => {
      const { leftovers, ...result } = await runCheck(check, entry, { ...context, stack });
      land(result);
      findings.push(...leftovers.map((text) => ({ check: check.id, text })));
    });
  }
  for (const one of watching) {
    const entry = entryOf(catalogue, one.watch);
    const { id, clause, title } = one.watch;
    const skip = skipped(anyCheck, entry, plan);
    land({ ...unseen, check: id, clause, title, ...(skip ?? watchOutcome(one, entry)) });
  }
  return report({ identity, described, results, findings, plan, selected });
}

/** Fields that a watch's result does not have. */
const unseen: Omit<CheckResult, "check" | "clause" | "title" | "verdict"> = {
  ...noOutcome,
  stack: "all",
  observed: {},
  wire: [],
  took: 0,
};

/** A watch that saw nothing to judge says nothing: what would have shown it did not run. */
function watchOutcome({ wrong, judge }: Watching, entry: CatalogueEntry): Outcome {
  if (wrong !== undefined) return outcomeOf(wrong, entry);
  return judge.judged > 0
    ? { ...noOutcome, verdict: "pass" }
    : { ...noOutcome, verdict: "needs-input", reason: "no check of this run showed anything to judge" };
}

function entryOf(catalogue: Catalogue, of: { readonly id: string; readonly clause: string }): CatalogueEntry {
  const entry = catalogue.entries.get(of.clause);
  if (entry === undefined) throw new Error(`${of.id} judges ${of.clause}, which is no clause`);
  return entry;
}

async function pool<T>(items: readonly T[], width: number, one: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  const worker = async (): Promise<void> => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await one(item);
  };
  await Promise.all(Array.from({ length: Math.min(width, queue.length) }, worker));
}

function notRun(
  { check, stack }: Pick<Planned, "check" | "stack">,
  { verdict, reason }: { verdict: Verdict; reason: string },
): CheckResult {
  const { id, clause, title } = check;
  return {
    check: id,
    clause,
    title,
    stack,
    verdict,
    subject: "",
    expected: "",
    actual: "",
    reason,
    observed: {},
    wire: [],
    took: 0,
  };
}

function smokeBlocked(error: unknown): { cause: BlockingCause; reason: string } {
  const told = error instanceof Error ? error.message : String(error);
  if (error instanceof MissingFixture) return { cause: "fixture", reason: told };
  if (error instanceof Finding && /UNAUTHENTICATED|PERMISSION_DENIED/.test(error.actual)) {
    return { cause: "auth", reason: told };
  }
  return { cause: "smoke", reason: told };
}

function anyEntry(catalogue: Catalogue): CatalogueEntry {
  const [entry] = catalogue.entries.values();
  if (entry === undefined) throw new Error("the contract has no clauses");
  return entry;
}

interface Found {
  readonly identity?: SubjectIdentity | undefined;
  readonly described?: unknown;
  readonly blocked?: { readonly cause: BlockingCause; readonly reason: string };
  readonly results?: readonly CheckResult[];
  readonly findings?: RunResult["findings"];
  readonly plan?: PlanContext;
  readonly selected?: readonly Check<unknown>[];
}

function reportOf(run: {
  readonly catalogue: Catalogue;
  readonly options: ConformanceOptions;
  readonly seed: string;
  readonly elapsed: () => number;
}): (found: Found) => RunResult {
  const { catalogue, options, seed, elapsed } = run;
  const startedAt = new Date().toISOString();
  return ({ identity, blocked, results = [], findings = [], plan, selected = [] }) => {
    const counts = countVerdicts(results);
    return {
      schema: 1,
      suite: { version: suitePackage.version, catalogueDigest: catalogue.digest },
      profile: options.profile,
      subject: {
        name: identity?.name ?? "",
        version: identity?.version ?? "",
        instanceId: identity?.instanceId ?? "",
        contractVersion: identity?.contractVersion ?? "",
        features: [...(identity?.features ?? [])]
          .map((feature) => Feature[feature] ?? String(feature))
          .sort(),
        target: options.target.url,
      },
      fixtureDigest: digestOf(options.file),
      seed,
      startedAt,
      took: Math.round(elapsed()),
      verdict: verdictOf(counts, blocked !== undefined),
      blocked: blocked ?? blockedBy(results),
      coverage: coverageOf({ catalogue, profile: options.profile, plan, selected, results }),
      counts,
      checks: [...results].sort((a, b) => (`${a.check}/${a.stack}` < `${b.check}/${b.stack}` ? -1 : 1)),
      findings,
    };
  };
}

function digestOf(file: ConformanceFile): string {
  const text = JSON.stringify({ ...file, headers: Object.keys(file.headers) }, (_key, value: unknown) =>
    typeof value === "bigint" ? String(value) : value,
  );
  return createHash("sha256").update(text).digest("hex");
}

function countVerdicts(results: readonly CheckResult[]): Record<Verdict, number> {
  const counts: Record<Verdict, number> = {
    pass: 0,
    fail: 0,
    warn: 0,
    "not-applicable": 0,
    "not-testable": 0,
    "needs-input": 0,
    observed: 0,
    inconclusive: 0,
    "could-not-run": 0,
    "harness-error": 0,
  };
  for (const { verdict } of results) counts[verdict] += 1;
  return counts;
}

function verdictOf(counts: Record<Verdict, number>, blocked: boolean): RunVerdict {
  if (blocked) return "incomplete";
  if (counts.fail + counts["not-testable"] > 0) return "not-conformant";
  const incomplete = [...incompleteVerdicts].some((verdict) => counts[verdict] > 0);
  return incomplete || counts.pass === 0 ? "incomplete" : "conformant";
}

function blockedBy(results: readonly CheckResult[]): RunResult["blocked"] {
  const first = results.find(({ verdict }) => incompleteVerdicts.has(verdict));
  if (first === undefined) {
    return results.some(({ verdict }) => verdict === "pass")
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
  readonly selected: readonly Check<unknown>[];
  readonly results: readonly CheckResult[];
}): Coverage {
  const musts = [...of.catalogue.entries.values()].filter(
    ({ level, profiles }) => level === "MUST" && profiles.includes(of.profile),
  );
  const observable = musts.filter(({ unobservable }) => unobservable === undefined);
  const { plan } = of;
  const applicable =
    plan === undefined
      ? observable
      : observable.filter((entry) => skipped(anyCheck, entry, plan) === undefined);
  const judgedClauses = new Set(
    of.results.filter(({ verdict }) => verdict === "pass" || verdict === "fail").map(({ clause }) => clause),
  );
  return {
    catalogue: musts.length,
    observable: observable.length,
    applicable: applicable.length,
    judged: applicable.filter(({ id }) => judgedClauses.has(id)).length,
  };
}
