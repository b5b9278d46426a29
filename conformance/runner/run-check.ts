import { setMaxListeners } from "node:events";
import type { CatalogueEntry } from "../catalogue/catalogue.js";
import type { Check } from "../check/check.js";
import {
  ConnectionLost,
  Finding,
  Inconclusive,
  MissingFixture,
  NoRoom,
  NotApplicable,
} from "../check/finding.js";
import { openTrial, type TrialContext } from "../check/trial.js";
import type { ConformanceFile } from "../fixture/conformance-file.js";
import { openConnection, type Stack, type Target } from "../subject/connection.js";
import type { Seen } from "../subject/seen.js";
import { type WireEvent, type WireLog, wireLog } from "../subject/wire-log.js";
import { type HeldProcess, holdProcess } from "./own-process.js";
import type { CleanUp, Played, ProfileSuite } from "./profile-suite.js";
import type { CheckResult, Verdict } from "./verdict.js";

/** What all checks of a run share. */
export interface RunContext<T, D> {
  readonly suite: ProfileSuite<T, D>;
  readonly target: Target;
  /** Command that starts the subject, for checks of the lane `process`; undefined: there is none. */
  readonly exec: string | undefined;
  readonly file: ConformanceFile;
  readonly described: D;
  /** What the runner plays. */
  readonly played: Played | undefined;
  /** Unique for the run: part of every id. */
  readonly runId: string;
  readonly timeScale: number;
  /** Milliseconds since the run began. */
  readonly elapsed: () => number;
  /** Ends everything. */
  readonly signal: AbortSignal;
  /** Hears everything that any check sees. */
  readonly onSeen: (seen: Seen) => void;
}

/** Seconds within which everything that a check opened must be closed again. A watchdog. */
const cleanUpSeconds = 5;

/** What a check came to. */
export type Outcome = Pick<CheckResult, "verdict" | "subject" | "expected" | "actual" | "reason">;

/** Nothing to tell beside the verdict. */
export const noOutcome: Omit<Outcome, "verdict"> = { subject: "", expected: "", actual: "", reason: "" };

/** Runs one check on one stack: its trial, its watchdog, its clean-up. Never throws. */
export async function runCheck<T, D>(
  check: Check<T>,
  entry: CatalogueEntry,
  { stack, ...run }: RunContext<T, D> & { readonly stack: Stack },
): Promise<CheckResult & { readonly leftovers: readonly string[] }> {
  const { suite, file, described, played, runId, elapsed } = run;
  const started = elapsed();
  const log = wireLog(elapsed, [...Object.values(run.target.headers), ...Object.values(file.headers)]);
  const of = { check: check.id, clause: check.clause, level: entry.level, title: check.title, stack };
  const took = (): number => Math.round(elapsed() - started);
  let held: HeldProcess | undefined;
  try {
    if (check.lane === "process" && run.exec !== undefined) held = await ownProcess(run.exec, run, log);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const outcome: Outcome = { ...noOutcome, verdict: "could-not-run", reason };
    return { ...of, ...outcome, observed: {}, wire: [], took: took(), leftovers: [] };
  }
  const watchdog = new AbortController();
  const seconds = check.within * run.timeScale;
  const hangs = new Error(`nothing came within ${seconds} s (a watchdog: --time-scale raises it)`);
  const timer = setTimeout(() => watchdog.abort(hangs), seconds * 1_000);
  const signal = AbortSignal.any([run.signal, watchdog.signal]);
  // Every call listens to it.
  setMaxListeners(0, signal);
  const cleanUps: CleanUp[] = [];
  const context: TrialContext = {
    entry,
    get target() {
      return held === undefined ? run.target : { ...run.target, url: held.url };
    },
    process: held?.own,
    stack,
    signal,
    log,
    timeScale: run.timeScale,
    prefix: `${runId}-${Math.random().toString(36).slice(2, 8)}`,
    onSeen(seen) {
      const cleanUp = seen.kind === "request" ? suite.cleanUp(seen.message) : undefined;
      if (cleanUp !== undefined) cleanUps.push(cleanUp);
      run.onSeen(seen);
    },
  };
  const { trial, observed, connections } = openTrial(context);
  const work = (async (): Promise<Outcome> => {
    const t = suite.trial(trial, file, described, played);
    await check.run(t);
    if (trial.judge.judged === 0 && observed.size === 0) {
      throw new Error("the check ended without having judged anything");
    }
    return { ...noOutcome, verdict: trial.judge.judged === 0 ? "observed" : "pass" };
  })();
  const outcome = await Promise.race([
    work.catch((error: unknown) =>
      watchdog.signal.aborted ? hung(watchdog.signal, lastOf(log.events)) : outcomeOf(error, entry),
    ),
    hanging(watchdog.signal, () => lastOf(log.events)),
  ]);
  clearTimeout(timer);
  // What was open in a process of its own ends with it.
  const leftovers = held === undefined ? await clean(cleanUps, { target: run.target, stack, log }) : [];
  for (const connection of connections) connection.cut();
  await held?.[Symbol.asyncDispose]();
  return {
    ...of,
    ...outcome,
    observed: Object.fromEntries(observed),
    wire: outcome.verdict === "pass" ? [] : [...log.events],
    took: took(),
    leftovers,
  };
}

/** A process for one check. What it connects to beside its own target lives as long as the run's signal lets it. */
function ownProcess(
  exec: string,
  { target, signal, played }: Pick<RunContext<never, never>, "target" | "signal" | "played">,
  log: WireLog,
): Promise<HeldProcess> {
  return holdProcess(exec, {
    env: played?.env ?? {},
    connect: (url) =>
      openConnection({
        target: { ...target, url },
        stack: "connect-node",
        number: -2,
        log,
        signal,
        onSeen: () => undefined,
      }),
  });
}

/** Only a Finding can say `fail`: whatever else is thrown is the suite's own trouble, or the subject's absence. */
export function outcomeOf(error: unknown, entry: CatalogueEntry): Outcome {
  if (error instanceof Finding) {
    const verdict: Verdict = entry.level === "MUST" ? "fail" : "warn";
    const { subject, expected, actual } = error;
    return { verdict, subject, expected, actual, reason: "" };
  }
  if (error instanceof MissingFixture) {
    return {
      ...noOutcome,
      // Only what must hold counts as failed where it cannot be tested.
      verdict: error.mandatory && entry.level === "MUST" ? "not-testable" : "needs-input",
      reason: error.message,
    };
  }
  const told = error instanceof Error ? error.message : String(error);
  if (error instanceof Inconclusive) return { ...noOutcome, verdict: "inconclusive", reason: told };
  if (error instanceof NoRoom || error instanceof ConnectionLost)
    return { ...noOutcome, verdict: "could-not-run", reason: told };
  if (error instanceof NotApplicable) return { ...noOutcome, verdict: "not-applicable", reason: told };
  return {
    ...noOutcome,
    verdict: "harness-error",
    reason: error instanceof Error ? (error.stack ?? told) : told,
  };
}

/** A watchdog is no judge: what the contract bounds is bounded by the check itself. */
function hung(watchdog: AbortSignal, last: string): Outcome {
  const reason = (watchdog.reason as Error).message;
  return {
    ...noOutcome,
    verdict: "could-not-run",
    reason: last === "" ? reason : `${reason}; last on the wire: ${last}`,
  };
}

function hanging(signal: AbortSignal, last: () => string): Promise<Outcome> {
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(hung(signal, last())));
  });
}

function lastOf(events: readonly WireEvent[]): string {
  const last = events.at(-1);
  return last === undefined ? "" : `${last.call} ${last.kind} ${last.text}`;
}

/** Closes in reverse, over a connection of its own, and touches nothing else. */
async function clean(
  cleanUps: readonly CleanUp[],
  { target, stack, log }: Pick<TrialContext, "target" | "stack" | "log">,
): Promise<string[]> {
  if (cleanUps.length === 0) return [];
  const connection = openConnection({
    target,
    stack,
    number: -1,
    log,
    signal: AbortSignal.timeout(cleanUpSeconds * 1_000),
    onSeen: () => undefined,
  });
  const found = new Map<string, string | undefined>();
  for (const { key, close } of [...cleanUps].reverse()) {
    if (found.has(key) && found.get(key) === undefined) continue;
    found.set(key, await close(connection).catch((error: unknown) => String(error)));
  }
  const left = [...found.values()].filter((finding) => finding !== undefined);
  connection.cut();
  return left;
}
