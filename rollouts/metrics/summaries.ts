import { join } from "node:path";
import { readJsonl } from "../jsonl-reader.js";

import {
  type FailureRecord,
  type RolloutRecord,
  scoredReward,
  type UnreleasedRecord,
} from "../rollout-record.js";
import { runFiles } from "../run-folder.js";
import { type Spent, spentOf } from "./spent.js";

/** What the numbers of a run need of a verdict. */
export interface RolloutSummary {
  readonly index: number;
  readonly rolloutId: string;
  readonly groupId: string;
  readonly attempt: number;
  /** The reward, where it counts: the verdict has one and is not masked. */
  readonly scored: number | null;
  readonly masked: boolean;
  readonly success: boolean;
  readonly spent: Spent;
  readonly unreleased: readonly UnreleasedRecord[];
}

/** What the numbers of a run need of a failed attempt. */
export interface FailureSummary {
  readonly index: number;
  readonly rolloutId: string;
  readonly attempt: number;
  readonly final: boolean;
  /** What happened: the name of the kind, a vendor's own name, or the number of a kind that is not known here. */
  readonly kind: string;
  readonly stage: string;
  readonly reason: string;
  readonly spent: Spent;
  readonly unreleased: readonly UnreleasedRecord[];
}

/** What a run's files hold, in the order of the plan: episodes end in any order, and sums must not depend on it. */
export interface RunSummary {
  readonly rollouts: readonly RolloutSummary[];
  readonly failures: readonly FailureSummary[];
}

/** Reads the files of a run: one record at a time, since all of them may be more than memory holds. */
export function summariseRun(folder: string): RunSummary {
  const rollouts: RolloutSummary[] = [];
  for (const { record } of readJsonl<RolloutRecord>(join(folder, runFiles.rollouts)))
    rollouts.push(summariseRollout(record));
  const failures: FailureSummary[] = [];
  for (const { record } of readJsonl<FailureRecord>(join(folder, runFiles.failures)))
    failures.push(summariseFailure(record));
  return {
    rollouts: rollouts.sort((a, b) => a.index - b.index),
    failures: failures.sort((a, b) => a.index - b.index),
  };
}

/** A sample succeeds where its verdict says so, else where it earned a whole reward. */
function summariseRollout(record: RolloutRecord): RolloutSummary {
  const { reward, success } = record;
  return {
    index: record.index,
    rolloutId: record.rollout_id,
    groupId: record.group_id,
    attempt: record.attempt,
    scored: scoredReward(record),
    masked: record.masked !== null,
    success: success ?? (reward ?? 0) >= 1,
    spent: spentOf(record.outcome),
    // Older files tell of none.
    unreleased: (record as Partial<typeof record>).unreleased ?? [],
  };
}

/** A Failure in the contract's JSON; a number stands for a name that is not known here. */
interface FailureJson {
  readonly kind?: string | number;
  readonly customKind?: string;
  readonly stage?: string | number;
  readonly reason?: string;
  readonly causes?: readonly { readonly reason?: string }[];
}

function summariseFailure(record: FailureRecord): FailureSummary {
  const { kind, customKind = "", stage, reason = "", causes = [] } = record.failure as FailureJson;
  // What the peer itself said may stand in a cause only.
  const words = causes
    .map((cause) => cause.reason ?? "")
    .find((text) => text !== "" && !reason.includes(text));
  return {
    index: record.index,
    rolloutId: record.rollout_id,
    attempt: record.attempt,
    final: record.final,
    kind: customKind === "" ? shortName(kind, "FAILURE_KIND_") : customKind,
    stage: shortName(stage, "STAGE_"),
    reason: words === undefined ? reason : `${reason} (${words})`,
    spent: spentOf(record.outcome),
    // Older files tell of none.
    unreleased: (record as Partial<typeof record>).unreleased ?? [],
  };
}

function shortName(value: string | number | undefined, prefix: string): string {
  return value === undefined ? "unspecified" : String(value).replace(prefix, "").toLowerCase();
}
