import { printable } from "../clients/printable.js";
import type { TakenStep } from "../rollouts/run-attempt.js";

/**
 * A step and what it earned: words for a terminal, else JSON. A reward that is absent is not 0: it is `-` there, and
 * left out of the JSON.
 */
export function stepLine(run: string, { episode, attempt, record }: TakenStep, forPeople: boolean): string {
  const { response } = record;
  const { stepIndex = 0, outcomes = [], terminated = false, truncated = false } = response ?? {};
  const { id = "" } = episode.task.taskId ?? {};
  if (forPeople) {
    const earned = outcomes.map(({ agentId, reward }) => `${agentId} ${reward?.value ?? "-"}`);
    const place = `${printable(id)} r${episode.repeat}${attempt === 0 ? "" : ` a${attempt}`}`;
    const end = terminated ? "  ended" : truncated ? "  cut" : "";
    return `${run}  ${place}  step ${stepIndex}  ${printable(earned.join("  "))}${end}`;
  }
  const rewards = outcomes.flatMap(({ agentId, reward }) =>
    reward === undefined ? [] : [[agentId, reward.value] as const],
  );
  return JSON.stringify({
    run,
    rollout_id: episode.rolloutId,
    task: id,
    repeat: episode.repeat,
    attempt,
    step: stepIndex,
    rewards: Object.fromEntries(rewards),
    terminated,
    truncated,
  });
}
