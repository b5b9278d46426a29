import { toJson } from "@bufbuild/protobuf";
import {
  type EpisodeOutcome,
  EpisodeOutcomeSchema,
  type Failure,
  FailureSchema,
  type ReadTrajectoryResponse,
  ReadTrajectoryResponseSchema,
  Retry,
} from "../gen/index.js";
import type { PlannedEpisode } from "./plan.js";

/** How one attempt ended, as it is stored. */
export interface AttemptResult {
  readonly episode: PlannedEpisode;
  readonly attempt: number;
  /** Absent where the episode server never gave one. */
  readonly outcome: EpisodeOutcome | undefined;
  /** Set exactly where there is no verdict. */
  readonly failure: Failure | undefined;
  readonly trajectory: readonly ReadTrajectoryResponse[];
}

/** A verdict as `rollouts.jsonl` holds it: a line for each episode, complete by itself. */
export interface RolloutRecord {
  readonly index: number;
  readonly rollout_id: string;
  readonly attempt: number;
  readonly group_id: string;
  readonly repeat: number;
  readonly task: { readonly taskset: string; readonly id: string };
  /** The episode's reward; null where the verdict has none: unscored. */
  readonly reward: number | null;
  readonly success: boolean | null;
  readonly masked: string | null;
  readonly outcome: unknown;
  readonly trajectory: readonly unknown[];
}

/** A failed attempt as `failures.jsonl` holds it. */
export interface FailureRecord {
  readonly index: number;
  readonly rollout_id: string;
  readonly attempt: number;
  readonly task: { readonly taskset: string; readonly id: string };
  /** The episode ended without a verdict; false: another attempt follows, now or when the run is resumed. */
  readonly final: boolean;
  readonly failure: unknown;
  readonly outcome: unknown;
}

function taskOf({ task }: PlannedEpisode): { taskset: string; id: string } {
  return { taskset: task.taskId?.taskset ?? "", id: task.taskId?.id ?? "" };
}

/** The outcome without what must not be stored: verifier_state is a secret of the environment. */
function outcomeJson(outcome: EpisodeOutcome | undefined): unknown {
  if (outcome === undefined) return null;
  return toJson(EpisodeOutcomeSchema, { ...outcome, verifierState: new Uint8Array() });
}

/** The record of an attempt that gave a verdict. */
export function rolloutRecord({ episode, attempt, outcome, trajectory }: AttemptResult): RolloutRecord {
  if (outcome?.outcome.case !== "verdict")
    throw new Error("a rollout record of an episode without a verdict");
  const { reward, success, masked } = outcome.outcome.value;
  return {
    index: episode.index,
    rollout_id: episode.rolloutId,
    attempt,
    group_id: episode.groupId,
    repeat: episode.repeat,
    task: taskOf(episode),
    reward: reward?.value ?? null,
    success: success ?? null,
    masked: masked?.reason ?? null,
    outcome: outcomeJson(outcome),
    trajectory: trajectory.map((record) => toJson(ReadTrajectoryResponseSchema, record)),
  };
}

/** The record of an attempt that gave none. */
export function failureRecord(result: AttemptResult, final: boolean): FailureRecord {
  const { episode, attempt, outcome, failure } = result;
  if (failure === undefined) throw new Error("a failure record of an episode that did not fail");
  return {
    index: episode.index,
    rollout_id: episode.rolloutId,
    attempt,
    task: taskOf(episode),
    final,
    failure: toJson(FailureSchema, failure),
    outcome: outcomeJson(outcome),
  };
}

/** Whether another attempt may help: `retry` alone says so (R9). */
export function mayRetry(failure: Failure): boolean {
  return failure.retry === Retry.NEW_ATTEMPT;
}
