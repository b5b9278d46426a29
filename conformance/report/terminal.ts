import type { Catalogue } from "../catalogue/catalogue.js";
import type { RunResult } from "../runner/result.js";
import type { CheckResult, Verdict } from "../runner/verdict.js";

/** Colours, or none. */
export interface Paint {
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
  bold(text: string): string;
  dim(text: string): string;
}

/** How the run was called, for the commands that run one check again. */
export interface Rerun {
  /** `touchstone conformance run environment --target http://127.0.0.1:7001 --config conformance.yaml` */
  readonly command: string;
}

const wireShown = 6;
/** Verdicts that a reader must do something about, in the order in which they are told. */
const told: readonly Verdict[] = [
  "harness-error",
  "fail",
  "not-testable",
  "could-not-run",
  "inconclusive",
  "warn",
];

/**
 * One check that did not pass: id and level, the clause verbatim with its link, what was expected, what came, the last
 * wire events, the command that runs it again.
 */
export function checkReport(
  result: CheckResult,
  { catalogue, paint, rerun }: { catalogue: Catalogue; paint: Paint; rerun: Rerun },
): string {
  const entry = catalogue.entries.get(result.clause);
  const colour = result.verdict === "warn" ? paint.yellow : paint.red;
  const lines = [
    `${colour(result.verdict)} ${paint.bold(result.check)} ${entry?.level ?? ""} (${result.stack})`,
    `  ${entry?.sentence ?? ""} ${paint.dim(`docs/contract.md#${entry?.anchor ?? ""}`)}`,
    `  check: ${result.title}`,
  ];
  if (result.subject !== "") {
    lines.push(
      `  judged:   ${result.subject}`,
      `  expected: ${result.expected}`,
      `  actual:   ${result.actual}`,
    );
  }
  if (result.reason !== "") lines.push(`  ${result.reason.split("\n").join("\n  ")}`);
  for (const event of result.wire.slice(-wireShown)) {
    lines.push(
      paint.dim(
        `  ${event.at.toFixed(0).padStart(6)} ms  c${event.connection} ${event.call} ${event.kind}: ${event.text}`,
      ),
    );
  }
  lines.push(paint.dim(`  again: ${rerun.command} ${result.check}`));
  return lines.join("\n");
}

/** The whole run, for people. */
export function terminalReport(
  result: RunResult,
  context: { catalogue: Catalogue; paint: Paint; rerun: Rerun },
): string {
  const { paint } = context;
  const parts: string[] = [];
  for (const verdict of told) {
    for (const check of result.checks.filter((one) => one.verdict === verdict)) {
      parts.push(checkReport(check, context));
    }
  }
  const needs = result.checks.filter(({ verdict }) => verdict === "needs-input");
  if (needs.length > 0) {
    const reasons = [...new Set(needs.map(({ reason }) => reason))].sort();
    parts.push(`${needs.length} checks need input:\n${reasons.map((reason) => `  ${reason}`).join("\n")}`);
  }
  for (const { check, text } of result.findings) parts.push(`${paint.yellow("left")} ${check}: ${text}`);
  parts.push(summary(result, paint));
  return parts.join("\n\n");
}

function summary(result: RunResult, paint: Paint): string {
  const { counts, coverage, subject } = result;
  const numbers = Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([verdict, count]) => `${count} ${verdict}`)
    .join(", ");
  const name = subject.name === "" ? subject.target : `${subject.name} ${subject.version}`;
  const colour = result.verdict === "conformant" ? paint.green : paint.red;
  const lines = [
    `${name}: ${colour(result.verdict)} (profile ${result.profile})`,
    `checks: ${numbers || "none"} in ${(result.took / 1_000).toFixed(1)} s, seed ${result.seed}`,
    `MUST clauses: ${coverage.judged} judged of ${coverage.applicable} that apply, ${coverage.observable} observable, ${coverage.catalogue} in the catalogue`,
  ];
  if (result.blocked !== null)
    lines.push(`${paint.red("blocked")} by ${result.blocked.cause}: ${result.blocked.reason}`);
  return lines.join("\n");
}
