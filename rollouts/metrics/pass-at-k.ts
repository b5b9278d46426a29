import { mean } from "./mean.js";
import type { RolloutSummary } from "./summaries.js";

/**
 * Unbiased estimates that at least one of k samples of a task succeeds, for k = 1, 2, 4 and so on to the most samples
 * that a task has, itself included. Each is a mean over the tasks with at least k scored samples.
 */
export function passAtK(rollouts: readonly RolloutSummary[]): Readonly<Record<string, number>> {
  const tasks = new Map<string, { samples: number; successes: number }>();
  for (const { groupId, scored, success } of rollouts) {
    if (scored === null) continue;
    const task = tasks.get(groupId) ?? { samples: 0, successes: 0 };
    task.samples += 1;
    if (success) task.successes += 1;
    tasks.set(groupId, task);
  }
  let most = 0;
  for (const { samples } of tasks.values()) most = Math.max(most, samples);
  const result: Record<string, number> = {};
  for (const k of powersOfTwo(most)) {
    const estimates = [...tasks.values()].filter(({ samples }) => samples >= k);
    result[String(k)] = mean(estimates.map(({ samples, successes }) => estimate(samples, successes, k))) ?? 0;
  }
  return result;
}

function powersOfTwo(most: number): number[] {
  const result: number[] = [];
  for (let k = 1; k < most; k *= 2) result.push(k);
  return most > 0 ? [...result, most] : result;
}

/** 1 - C(n-c, k) / C(n, k), as a product that does not overflow. */
function estimate(samples: number, successes: number, k: number): number {
  if (samples - successes < k) return 1;
  let miss = 1;
  for (let i = samples - successes + 1; i <= samples; i += 1) miss *= 1 - k / i;
  return 1 - miss;
}
