import type { RunResult } from "../runner/result.js";

/** Several results as a Markdown table: an implementation a row, a profile a column. */
export function matrix(results: readonly RunResult[]): string {
  const profiles = [...new Set(results.map(({ profile }) => profile))].sort();
  const names = [...new Set(results.map(nameOf))].sort();
  const cell = (name: string, profile: string): string => {
    const newest = results
      .filter((result) => nameOf(result) === name && result.profile === profile)
      .sort((a, b) => (a.startedAt < b.startedAt ? 1 : -1))[0];
    if (newest === undefined) return "";
    const { counts, verdict, coverage } = newest;
    const failed = counts.fail + counts["not-testable"];
    const told = failed > 0 ? `, ${failed} failed` : "";
    return `${verdict} (${coverage.judged}/${coverage.applicable} MUST${told})`;
  };
  return [
    `| Implementation | ${profiles.join(" | ")} |`,
    `| --- | ${profiles.map(() => "---").join(" | ")} |`,
    ...names.map((name) => `| ${name} | ${profiles.map((profile) => cell(name, profile)).join(" | ")} |`),
    "",
  ].join("\n");
}

function nameOf({ subject }: RunResult): string {
  return `${subject.name} ${subject.version}`.replaceAll("|", "/");
}
