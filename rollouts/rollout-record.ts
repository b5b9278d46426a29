import { toJson } from "@bufbuild/protobuf";
import {
  type EpisodeOutcome,
  EpisodeOutcomeSchema,
  type Failure,
  FailureSchema,
  type ResourceIntent,
  ResourceKind,
} from "../gen/index.js";
import { cutText } from "../servers/runtime/failure.js";
import type { PlannedEpisode } from "./plan.js";

/** An outcome with the JSON in which it is stored. */
export interface StorableOutcome {
  readonly message: EpisodeOutcome;
  readonly json: unknown;
}

/** Longest texts of a failure that are stored, in bytes: the contract's bounds, whatever a peer sends (field-case-042). */
const reasonBytes = 2000;
const detailsBytes = 16_384;
const causeBytes = 300;

/**
 * The outcome as it may be stored: without verifier_state, which is a secret of the environment, and its failure within
 * bounds. Throws where a peer's value has no JSON.
 */
export function storableOutcome(message: EpisodeOutcome): StorableOutcome {
  if (message.outcome.case === "failure") bound(message.outcome.value);
  const json = toJson(EpisodeOutcomeSchema, { ...message, verifierState: new Uint8Array() });
  return { message, json };
}

function bound(failure: Failure): void {
  failure.reason = cutText(failure.reason, reasonBytes);
  if (Buffer.byteLength(failure.detailsJson) > detailsBytes) failure.detailsJson = "";
  for (const cause of failure.causes) cause.reason = cutText(cause.reason, causeBytes);
}

/** How one attempt ended, as it is stored. */
export interface AttemptResult {
  readonly episode: PlannedEpisode;
  readonly attempt: number;
  /** When it ended. */
  readonly endedAt: Date;
  /** Absent where the episode server never gave one. */
  readonly outcome: StorableOutcome | undefined;
  /** Set exactly where there is no verdict. */
  readonly failure: Failure | undefined;
  /** ReadTrajectoryResponse in the contract's JSON. */
  readonly trajectory: readonly unknown[];
  /** Why the trajectory is not whole; empty: it is. */
  readonly trajectoryMissing: string;
  /** What it, or an attempt before it, made and nobody told to have released. */
  readonly unreleased: readonly ResourceIntent[];
}

/** Something that an episode made at a server and that is left there. */
export interface UnreleasedRecord {
  /** `environment_session`, `agent_session`, `gateway`, `episode`. */
  readonly kind: string;
  /** Name of the server at which it was made. */
  readonly server: string;
  /** Where that is, where another endpoint than the server's own was told; else null. */
  readonly url: string | null;
  readonly id: string;
}

interface AttemptRecord {
  /** Place in the plan: the order of the tasks and their repeats. Lines stand in the order in which episodes ended. */
  readonly index: number;
  readonly rollout_id: string;
  readonly attempt: number;
  readonly group_id: string;
  readonly repeat: number;
  readonly task: { readonly taskset: string; readonly id: string };
  readonly ended_at: string;
  /** EpisodeOutcome in the contract's JSON, its secrets left out. */
  readonly outcome: unknown;
  /** Everything that was said and done, and every model call: ReadTrajectoryResponse in the contract's JSON. */
  readonly trajectory: readonly unknown[];
  /** Why the trajectory is not whole; null: it is. */
  readonly trajectory_missing: string | null;
  /** What it, or an attempt before it, made and nobody told to have released. */
  readonly unreleased: readonly UnreleasedRecord[];
}

/** A verdict as `rollouts.jsonl` holds it: a line for each episode, complete by itself. */
export interface RolloutRecord extends AttemptRecord {
  /** The episode's reward; null where the verdict has none: unscored. */
  readonly reward: number | null;
  readonly success: boolean | null;
  /** Why the verdict is no valid measurement; null: it is one. */
  readonly masked: string | null;
}

/** The reward of a verdict that counts, which is a valid measurement with a reward; else null. */
export function scoredReward({ reward, masked }: Pick<RolloutRecord, "reward" | "masked">): number | null {
  return masked === null ? reward : null;
}

/** A failed attempt as `failures.jsonl` holds it. */
export interface FailureRecord extends AttemptRecord {
  /** The episode ended without a verdict; false: another attempt follows, now or when the run is resumed. */
  readonly final: boolean;
  readonly failure: unknown;
}

function attemptRecord(result: AttemptResult): AttemptRecord {
  const { episode, attempt, endedAt, outcome, trajectory, trajectoryMissing, unreleased } = result;
  const { taskId } = episode.task;
  return {
    index: episode.index,
    rollout_id: episode.rolloutId,
    attempt,
    group_id: episode.groupId,
    repeat: episode.repeat,
    task: { taskset: taskId?.taskset ?? "", id: taskId?.id ?? "" },
    ended_at: endedAt.toISOString(),
    unreleased: unreleased.map(({ kind, binding, endpoint, id }) => ({
      kind: (ResourceKind[kind] ?? `kind ${kind}`).toLowerCase(),
      server: binding,
      url: endpoint?.url ?? null,
      id,
    })),
    outcome: outcome?.json ?? null,
    trajectory,
    trajectory_missing: trajectoryMissing === "" ? null : trajectoryMissing,
  };
}

/** The record of an attempt that gave a verdict. */
export function rolloutRecord(result: AttemptResult): RolloutRecord {
  const ended = result.outcome?.message.outcome;
  if (ended?.case !== "verdict") throw new Error("a rollout record of an episode without a verdict");
  const { reward, success, masked } = ended.value;
  const { unreleased, outcome, trajectory, trajectory_missing, ...head } = attemptRecord(result);
  return {
    ...head,
    reward: reward?.value ?? null,
    success: success ?? null,
    masked: masked?.reason ?? null,
    unreleased,
    outcome,
    trajectory,
    trajectory_missing,
  };
}

/** The record of an attempt that gave none. */
export function failureRecord(result: AttemptResult, final: boolean): FailureRecord {
  const { failure } = result;
  if (failure === undefined) throw new Error("a failure record of an episode that did not fail");
  const { unreleased, outcome, trajectory, trajectory_missing, ...head } = attemptRecord(result);
  return {
    ...head,
    final,
    failure: toJson(FailureSchema, failure),
    unreleased,
    outcome,
    trajectory,
    trajectory_missing,
  };
}
