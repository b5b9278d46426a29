import { join } from "node:path";
import type { Benchmark } from "./benchmark.js";
import { oneLine } from "./error-text.js";
import { computeMetrics, type Metrics } from "./metrics/metrics.js";
import { summariseRun } from "./metrics/summaries.js";
import { type Plan, tasksDigest } from "./plan.js";
import type { RolloutStore } from "./rollout-store.js";
import { runFiles, writeWhole } from "./run-folder.js";
import type { RunSettings } from "./run-settings.js";
import type { PlacedTask } from "./task-set.js";

/** How a run ended. */
export interface RunReport {
  /** Its agents, for people. */
  readonly name: string;
  readonly folder: string;
  readonly metrics: Metrics;
  /** Why it stopped before its end; absent: it did not. */
  readonly stopped: string | undefined;
  /** Episodes that were begun and have no end: where their tasks stand. */
  readonly unfinished: readonly string[];
  readonly benchmark: Benchmark | undefined;
  /** Where each server of the run is, by name. */
  readonly urls: Readonly<Record<string, string>>;
  /** Episodes that had ended before this part of the run began; undefined: it is the first. */
  readonly resumed: number | undefined;
}

/** Computes the numbers of a run from its files, and stores them. */
export function finish(
  plan: Plan,
  store: RolloutStore,
  told: Omit<RunReport, "metrics" | "unfinished"> & {
    readonly tasks: readonly PlacedTask[];
    readonly settings: RunSettings;
  },
): RunReport {
  const { folder, name, benchmark, tasks, stopped, settings, urls, resumed } = told;
  const rows = store.rows();
  const begun = plan.episodes.filter(({ rolloutId }) => (rows.get(rolloutId)?.attempts ?? 0) > 0);
  const unfinished = begun.filter(({ rolloutId }) =>
    ["planned", "running"].includes(rows.get(rolloutId)?.state ?? "planned"),
  );
  const metrics = computeMetrics(summariseRun(folder), {
    episodes: plan.episodes.length,
    groups: plan.groups,
    begun: begun.length,
  });
  const facts = {
    run_id: plan.runId,
    agents: settings.agents,
    models: settings.models,
    ...(benchmark === undefined
      ? {}
      : { benchmark: benchmark.name, score: scoreOf(benchmark, metrics), metric: benchmark.metric }),
    tasks: tasks.length,
    tasks_digest: tasksDigest(tasks),
    started_at: store.startedAt,
    elapsed_seconds: store.elapsedMs / 1000,
    ...metrics,
  };
  let why = stopped;
  try {
    writeWhole(folder, runFiles.metrics, `${JSON.stringify(facts, null, 2)}\n`);
  } catch (error) {
    why ??= `${join(folder, runFiles.metrics)} cannot be written: ${oneLine(error)}`;
  }
  return {
    name,
    folder,
    metrics,
    stopped: why,
    unfinished: unfinished.map(({ rolloutId, place }) => `${place} (${rolloutId})`),
    benchmark,
    urls,
    resumed,
  };
}

/** The number that a benchmark calls its score; null where nothing was scored. */
export function scoreOf({ metric }: Benchmark, metrics: Metrics): number | null {
  switch (metric) {
    case "mean_reward":
      return metrics.mean_reward;
    case "pass_at_1":
      return metrics.pass_at_k["1"] ?? null;
  }
}
