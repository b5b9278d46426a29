import type { RunReport } from "../rollouts/run.js";

function number(value: number | null): string {
  return value === null ? "-" : value.toFixed(3);
}

/** The closing table: what was scored of what was expected, what failed and why, and where the files are. */
export function reportTable(reports: readonly RunReport[]): string {
  const head = [
    "agent",
    "mean reward",
    "pass@1",
    "scored",
    "masked",
    "unscored",
    "failed",
    "missing",
    "expected",
    "files",
  ];
  const rows = reports.map(({ agents, folder, metrics }) => {
    const { coverage } = metrics;
    return [
      agents.join("+"),
      number(metrics.mean_reward),
      number(metrics.pass_at_k["1"] ?? null),
      coverage.scored,
      coverage.masked,
      coverage.unscored,
      coverage.failed,
      coverage.missing,
      coverage.expected,
      folder,
    ].map(String);
  });
  const lines = aligned([head, ...rows]);
  for (const { agents, metrics, stopped } of reports) {
    const who = agents.join("+");
    for (const [kind, count] of Object.entries(metrics.failures.by_kind))
      lines.push(`${who}: ${count} failed: ${kind}`);
    if (metrics.coverage.failed > 0) {
      lines.push(`${who}: mean reward with failures as 0: ${number(metrics.mean_reward_failures_as_zero)}`);
    }
    if (metrics.retried > 0) {
      lines.push(
        `${who}: mean reward without ${metrics.retried} retried: ${number(metrics.mean_reward_without_retried)}`,
      );
    }
    if (stopped !== undefined) lines.push(`${who}: stopped before the end: ${stopped}`);
  }
  return lines.join("\n");
}

function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}
