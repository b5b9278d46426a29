import { type BenchDocument, DISTURBED } from "./document.js";
import type { Figure } from "./figures.js";
import type { Goal } from "./goals.js";
import { number, table } from "./table.js";

/** The document as a terminal shows it. */
export function printed(document: BenchDocument): string {
  const { machine, options, foreignCores, figures, skipped, dominant } = document;
  const failed = figures.flatMap(({ tries }) => tries.filter((one) => "error" in one));
  const parts = [
    `${machine.processor}, ${machine.cores} cores, Node ${machine.node}; load ${machine.loadBefore} before, ` +
      `${machine.loadAfter} after; ${options.tries} tries of ${options.seconds} s behind ${options.warmSeconds} s`,
    ...(machine.unpinned === undefined ? [] : [`NOT PINNED to cores: ${machine.unpinned}`]),
    ...(foreignCores !== null && foreignCores > DISTURBED
      ? [`DISTURBED: other work kept ${number(foreignCores)} cores busy (median); ratios only indicate`]
      : []),
    rateTable(figures),
    heldTable(figures),
    ratioTable(document),
    goalTable(document.goals),
    ...(dominant.length === 0 ? [] : ["what dominates (own time; --profile tells files and functions)"]),
    ...dominant.map(({ point, side, sessions, parts }) => `${point} @${sessions}, ${side}: ${parts}`),
    ...skipped.map(({ name, reason }) => `SKIPPED ${name}: ${reason}`),
    ...failed.map(
      (one) => `FAILED ${one.point} ${one.mode} @${one.sessions}: ${"error" in one ? one.error : ""}`,
    ),
  ];
  return parts.filter((part) => part !== "").join("\n\n");
}

function rateTable(figures: readonly Figure[]): string {
  const head = [
    "medians",
    "@",
    "a second",
    "least-most",
    "p50 us",
    "p99 us",
    "server us",
    "client us",
    "foreign cores",
  ];
  const rows = figures.flatMap(({ point, mode, sessions, median, range }) => {
    if (median === undefined) return [];
    const unit = point.startsWith("episodes") ? "episodes" : mode === "create" ? "sessions" : "steps";
    const { perSecond, p50Us, p99Us, serverCpuUs, clientCpuUs, foreignCores } = median;
    const numbers = [p50Us, p99Us, serverCpuUs, clientCpuUs, foreignCores].map(number);
    const between = `${number(range?.[0])}-${number(range?.[1])}`;
    return [[`${point} (${unit})`, String(sessions), number(perSecond), between, ...numbers]];
  });
  return rows.length === 0 ? "" : table(head, rows);
}

function heldTable(figures: readonly Figure[]): string {
  const rows = figures.flatMap(({ point, held }) =>
    held === undefined
      ? []
      : [
          [
            point,
            number(held.open),
            number(held.emptyMegabytes),
            number(held.megabytes),
            number(held.growthMegabytes),
          ],
        ],
  );
  return rows.length === 0 ? "" : table(["idle", "sessions", "empty MB", "MB", "growth MB"], rows);
}

function ratioTable({ ratios }: BenchDocument): string {
  const rows = Object.entries(ratios).flatMap(([name, value]) =>
    value === null ? [] : [[name, number(value)]],
  );
  return rows.length === 0 ? "" : table(["ratios of medians", "times"], rows);
}

function goalTable(goals: readonly Goal[]): string {
  const rows = goals.map(({ name, unit, bound, goal, aim, value, met, marginPercent }) => [
    name,
    `${bound === "atLeast" ? ">=" : "<="} ${number(goal)}${aim === undefined ? "" : ` (aim ${number(aim)})`} ${unit}`,
    number(value),
    met === null ? "not measured" : met ? "met" : "MISSED",
    marginPercent === null ? "" : `${marginPercent > 0 ? "+" : ""}${marginPercent} %`,
  ]);
  return table(["goal", "wanted", "measured", "", "margin"], rows);
}
