import type { Catalogue } from "../catalogue/catalogue.js";
import type { RunResult } from "../runner/result.js";
import type { CheckResult, Verdict } from "../runner/verdict.js";

const shown: readonly Verdict[] = [
  "harness-error",
  "fail",
  "not-testable",
  "could-not-run",
  "inconclusive",
  "warn",
  "needs-input",
];

/** Text that a table's cell or a list's line can hold. */
function cell(text: string): string {
  return text
    .replaceAll("|", "\\|")
    .replaceAll("<", "&lt;")
    .replace(/\s*\n\s*/g, " ");
}

function code(text: string): string {
  return `\`${text.replaceAll("`", "'").replace(/\s*\n\s*/g, " ")}\``;
}

function section(verdict: Verdict, checks: readonly CheckResult[], catalogue: Catalogue): string[] {
  const lines = [`## ${verdict} (${checks.length})`, ""];
  for (const one of checks) {
    lines.push(
      `- **${one.check}** (${one.stack}): ${cell(catalogue.entries.get(one.clause)?.sentence ?? one.title)}`,
    );
    if (one.subject !== "") {
      lines.push(`  ${cell(one.subject)}: expected ${code(one.expected)}, got ${code(one.actual)}`);
    } else if (one.reason !== "") lines.push(`  ${cell(one.reason.split("\n")[0] ?? "")}`);
  }
  return [...lines, ""];
}

/** The result as Markdown: for pull requests and for `reports/`. */
export function markdownReport(result: RunResult, catalogue: Catalogue): string {
  const { subject, coverage, counts } = result;
  const rows = Object.entries(counts).filter(([, count]) => count > 0);
  return [
    `# ${cell(subject.name || subject.target)} ${cell(subject.version)}: ${result.verdict}`,
    "",
    `Profile ${result.profile}, suite ${result.suite.version}, contract ${cell(subject.contractVersion)}, ${result.startedAt}, seed \`${result.seed}\`.`,
    "",
    ...(result.blocked === null
      ? []
      : [`**Blocked** by ${result.blocked.cause}: ${cell(result.blocked.reason)}`, ""]),
    `MUST clauses: ${coverage.judged} judged of ${coverage.applicable} that apply (${coverage.observable} observable, ${coverage.catalogue} in the catalogue).`,
    "",
    "| Verdict | Checks |",
    "| --- | ---: |",
    ...rows.map(([verdict, count]) => `| ${verdict} | ${count} |`),
    "",
    ...shown.flatMap((verdict) => {
      const checks = result.checks.filter((one) => one.verdict === verdict);
      return checks.length === 0 ? [] : section(verdict, checks, catalogue);
    }),
    ...(coverage.missing.length === 0
      ? []
      : [
          `## Not judged (${coverage.missing.length})`,
          "",
          ...coverage.missing.map(({ clause, opens }) => `- ${clause}: ${cell(opens)}`),
          "",
        ]),
    ...(result.findings.length === 0
      ? []
      : ["## Left behind", "", ...result.findings.map(({ check, text }) => `- ${check}: ${cell(text)}`), ""]),
  ].join("\n");
}
