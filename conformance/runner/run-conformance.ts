import { randomBytes } from "node:crypto";
import { type Catalogue, type CatalogueEntry, readCatalogue } from "../catalogue/catalogue.js";
import type { Profile } from "../catalogue/profile.js";
import type { Check, Lane } from "../check/check.js";
import { beginWatch, type Watching } from "../check/watch.js";
import type { ConformanceFile } from "../fixture/conformance-file.js";
import type { Stack, Target } from "../subject/connection.js";
import { speaksWeb } from "../subject/plain-http.js";
import { assembleResult, type Found, type RunFacts } from "./assemble-result.js";
import { chosen } from "./pattern.js";
import { anyCheck, type PlanContext, skipped } from "./plan.js";
import { type PlannedCheck, planRun } from "./plan-run.js";
import type { Played, SubjectIdentity } from "./profile-suite.js";
import type { RunResult } from "./result.js";
import { noOutcome, type Outcome, outcomeOf, type RunContext, runCheck } from "./run-check.js";
import { shuffle } from "./shuffle.js";
import { smoke } from "./smoke.js";
import { suiteOf } from "./suites.js";
import type { CheckResult, Verdict } from "./verdict.js";

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
  /**
   * Command that starts the subject. Given, checks of the lane `process` run, each against a process of its own: its
   * variable TOUCHSTONE_STATE_DIR names a folder that is its own too.
   */
  readonly exec?: string;
  /** What the runner plays, where it had to be there before the subject; absent: it begins with the run. */
  readonly played?: Played | undefined;
  /** Circumstances that Describe does not tell. */
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
  { lane: "process", width: () => 2 },
];

/** A run before its first check: what the subject is and what applies to it, or why nothing can be said. */
interface Prepared {
  readonly catalogue: Catalogue;
  readonly suite: ReturnType<typeof suiteOf>;
  readonly runId: string;
  readonly seed: string;
  readonly signal: AbortSignal;
  readonly elapsed: () => number;
  readonly report: (found: Found) => RunResult;
  readonly begun:
    | { readonly blocked: RunResult }
    | {
        readonly blocked?: undefined;
        readonly described: unknown;
        readonly identity: SubjectIdentity;
        readonly plan: PlanContext;
      };
}

async function prepare(options: ConformanceOptions, played: Played | undefined): Promise<Prepared> {
  const { profile, file, target } = options;
  const origin = performance.now();
  const elapsed = (): number => performance.now() - origin;
  const catalogue = readCatalogue();
  const suite = suiteOf(profile);
  const runId = randomBytes(6).toString("hex");
  const seed = options.seed ?? runId;
  const signal = options.signal ?? new AbortController().signal;
  const facts: RunFacts = {
    catalogue,
    profile,
    file,
    url: target.url,
    seed,
    patterns: options.patterns ?? [],
    startedAt: new Date().toISOString(),
    elapsed,
  };
  const report = (found: Found): RunResult => assembleResult(facts, found);
  const prepared = { catalogue, suite, runId, seed, signal, elapsed, report };
  const lack = suite.lacks(file);
  const smoked = await smoke({
    suite,
    target,
    file,
    played,
    entry: anyEntry(catalogue),
    prefix: `${runId}-smoke`,
    elapsed,
    signal,
    // Without a fixture nothing can be tried, but whether anybody answers at all comes before that.
    describeOnly: options.smoke === false || lack !== undefined,
  });
  if (smoked.blocked !== undefined) return { ...prepared, begun: { blocked: report(smoked) } };
  if (lack !== undefined)
    return { ...prepared, begun: { blocked: report({ blocked: { cause: "fixture", reason: lack } }) } };
  const { described, identity } = smoked;
  const plan: PlanContext = {
    features: identity.features,
    circumstances: new Set([
      ...identity.circumstances,
      ...(options.circumstances ?? []),
      ...(options.exec === undefined ? [] : ["process"]),
      ...((await speaksWeb(target, suite.probePath)) ? ["web"] : []),
    ]),
    storms: file.storms,
    destructive: options.allowDestructive ?? false,
    slow: options.slow ?? false,
  };
  return { ...prepared, begun: { described, identity, plan } };
}

/** What a run would do, without doing it: the subject is asked what it is, and used once. */
export async function planConformance(
  options: ConformanceOptions,
): Promise<
  { readonly blocked: RunResult } | { readonly blocked?: undefined; readonly checks: readonly PlannedCheck[] }
> {
  await using own =
    options.played === undefined ? await suiteOf(options.profile).play?.(options.file) : undefined;
  const { catalogue, suite, begun } = await prepare(options, options.played ?? own);
  if (begun.blocked !== undefined) return begun;
  return { checks: planRun(suite, { catalogue, plan: begun.plan, patterns: options.patterns ?? [] }) };
}

/** Judges a subject by the checks of a profile. */
export async function runConformance(options: ConformanceOptions): Promise<RunResult> {
  const { file, target } = options;
  await using own = options.played === undefined ? await suiteOf(options.profile).play?.(file) : undefined;
  const played = options.played ?? own;
  const { catalogue, suite, runId, seed, signal, elapsed, report, begun } = await prepare(options, played);
  if (begun.blocked !== undefined) return begun.blocked;
  const { described, identity, plan } = begun;
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
      else land(notRun({ check, entry, stack }, skip));
    }
  }
  const watching = suite
    .watches(described, file)
    .filter((one) => chosen(options.patterns ?? [], one))
    .map((one) => beginWatch(one, entryOf(catalogue, one)));
  const context: RunContext<unknown, unknown> = {
    suite,
    target,
    exec: options.exec,
    file,
    described,
    played,
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
    land({ ...unseen, check: id, clause, level: entry.level, title, ...(skip ?? watchOutcome(one, entry)) });
  }
  return report({ identity, results, findings, plan });
}

/** Fields that a watch's result does not have. */
const unseen: Omit<CheckResult, "check" | "clause" | "level" | "title" | "verdict"> = {
  ...noOutcome,
  stack: "all",
  observed: {},
  wire: [],
  took: 0,
};

/** A watch that saw nothing to judge says nothing: what would have shown it did not run. */
function watchOutcome({ wrong, judge, watch }: Watching, entry: CatalogueEntry): Outcome {
  if (watch.notApplicable !== undefined) {
    return { ...noOutcome, verdict: "not-applicable", reason: watch.notApplicable };
  }
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
  { check, entry, stack }: Planned,
  { verdict, reason }: { verdict: Verdict; reason: string },
): CheckResult {
  const { id, clause, title } = check;
  return {
    check: id,
    clause,
    level: entry.level,
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

function anyEntry(catalogue: Catalogue): CatalogueEntry {
  const [entry] = catalogue.entries.values();
  if (entry === undefined) throw new Error("the contract has no clauses");
  return entry;
}
