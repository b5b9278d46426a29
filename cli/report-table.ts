import { printable } from "../clients/printable.js";
import { type RunReport, scoreOf } from "../rollouts/run-report.js";
import { aligned } from "./aligned.js";

/** Characters of a reason that the table shows. */
const reasonLength = 200;
/** Unfinished episodes that are named; more are counted. */
const namedEpisodes = 5;

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
    "unfinished",
    "not begun",
    "expected",
    "files",
  ];
  const rows = reports.map(({ name, folder, metrics }) => {
    const { coverage } = metrics;
    return [
      name,
      number(metrics.mean_reward),
      number(metrics.pass_at_k["1"] ?? null),
      coverage.scored,
      coverage.masked,
      coverage.unscored,
      coverage.failed,
      coverage.unfinished,
      coverage.not_begun,
      coverage.expected,
      folder,
    ].map(String);
  });
  const notes = reports.flatMap((report) => notesOf(report).map((note) => `${report.name}: ${note}`));
  return [...aligned([head, ...rows]), ...notes].join("\n");
}

/** What the numbers of a run do not say by themselves. */
function notesOf({ metrics, stopped, unfinished, benchmark, urls, resumed }: RunReport): string[] {
  const notes: string[] = [];
  if (resumed !== undefined) {
    const { expected } = metrics.coverage;
    notes.push(`resumed: ${resumed} of ${expected} had ended before; the numbers are of all`);
  }
  if (benchmark !== undefined) {
    const baselines = benchmark.baselines.map(({ agent, score }) => `${agent} ${number(score)}`).join(", ");
    const beside = baselines === "" ? "" : ` (baselines: ${baselines})`;
    notes.push(
      `benchmark ${benchmark.name}: ${benchmark.metric} ${number(scoreOf(benchmark, metrics))}${beside}`,
    );
  }
  for (const { kind, episodes, example } of metrics.failures.kinds) {
    notes.push(`${episodes} failed: ${printable(kind)}: ${printable(example, reasonLength)}`);
  }
  if (metrics.coverage.failed > 0) {
    notes.push(`mean reward with failures as 0: ${number(metrics.mean_reward_failures_as_zero)}`);
  }
  if (metrics.retried > 0) {
    notes.push(
      `mean reward without the ${metrics.retried} retried: ${number(metrics.mean_reward_without_retried)}`,
    );
  }
  for (const { kind, server, url, count } of metrics.unreleased) {
    const what = `${printable(kind).replaceAll("_", " ")}${count === 1 ? "" : "s"}`;
    const where = url ?? urls[server];
    notes.push(
      `unreleased: ${count} ${what} at ${where === undefined ? printable(server) : printable(where)}`,
    );
  }
  for (const place of unfinished.slice(0, namedEpisodes)) notes.push(`unfinished: ${printable(place)}`);
  if (unfinished.length > namedEpisodes) notes.push(`unfinished: ${unfinished.length - namedEpisodes} more`);
  if (stopped !== undefined) notes.push(`stopped before the end: ${printable(stopped)}`);
  return notes;
}
