import type { WireEvent } from "../subject/wire-log.js";

/**
 * How a check ended:
 * - `pass`, `fail`;
 * - `warn`: a SHOULD that does not hold;
 * - `not-applicable`: the subject does not declare what it is about;
 * - `not-testable`: a line of conformance.yaml that must be there is not: counts as failed;
 * - `needs-input`: an optional line is not there, or storms are not allowed: listed, not scored;
 * - `observed`: the contract leaves a choice: recorded, never scored;
 * - `inconclusive`: a race was lost;
 * - `could-not-run`: the subject could not be brought to where the question is asked;
 * - `harness-error`: the suite itself broke.
 */
export type Verdict =
  | "pass"
  | "fail"
  | "warn"
  | "not-applicable"
  | "not-testable"
  | "needs-input"
  | "observed"
  | "inconclusive"
  | "could-not-run"
  | "harness-error";

/** Verdicts that leave a run incomplete: it says nothing about the subject. */
export const incompleteVerdicts: ReadonlySet<Verdict> = new Set([
  "inconclusive",
  "could-not-run",
  "harness-error",
]);

/** One check as it was judged. */
export interface CheckResult {
  /** `ENV-STEP-017.by-action-id` */
  readonly check: string;
  readonly clause: string;
  readonly title: string;
  /** Client library that it ran on. */
  readonly stack: string;
  readonly verdict: Verdict;
  /** What was judged; empty where nothing failed. */
  readonly subject: string;
  readonly expected: string;
  readonly actual: string;
  /** Why it did not run, or what broke. */
  readonly reason: string;
  /** What the contract leaves open, as seen. */
  readonly observed: Readonly<Record<string, string>>;
  /** The newest wire events of a check that did not pass. */
  readonly wire: readonly WireEvent[];
  /** Milliseconds. */
  readonly took: number;
}
