import { ConfigError } from "../servers/composition/config-error.js";
import { readJsonl } from "./jsonl-reader.js";
import type { JsonlWriter } from "./jsonl-writer.js";
import { type FailureRecord, type RolloutRecord, scoredReward } from "./rollout-record.js";
import { runFiles } from "./run-folder.js";
import type { EndedEpisode, EpisodeState, RunIndex } from "./run-index.js";

/** The files that an index tells of. */
export interface IndexedFiles {
  readonly rollouts: JsonlWriter;
  readonly failures: JsonlWriter;
}

/**
 * Tells an index what it does not know of its files: what was written after its last group before a crash, or
 * everything where it was lost. The files are the truth. Answers the rollouts that have a verdict. Throws ConfigError
 * where a file has lost what the index knows of.
 */
export function catchUp(index: RunIndex, { rollouts, failures }: IndexedFiles): Set<string> {
  const landed = new Set<string>();
  for (const [rolloutId, { state }] of index.rows()) if (state === "landed") landed.add(rolloutId);
  const ended = new Map<string, EndedEpisode>();
  const attempts = new Map<string, number>();
  const note = (record: RolloutRecord | FailureRecord, state: EpisodeState, reward: number | null): void => {
    const { rollout_id: rolloutId, attempt } = record;
    attempts.set(rolloutId, Math.max(attempts.get(rolloutId) ?? 0, attempt));
    ended.set(rolloutId, { rolloutId, state, reward });
  };
  for (const { record } of readJsonl<FailureRecord>(
    failures.path,
    knownBytes(index, "failures_bytes", failures),
  )) {
    note(record, stateAfter(record), null);
  }
  for (const { record } of readJsonl<RolloutRecord>(
    rollouts.path,
    knownBytes(index, "rollouts_bytes", rollouts),
  )) {
    landed.add(record.rollout_id);
    note(record, "landed", scoredReward(record));
  }
  const [first] = ended.keys();
  if (first === undefined) return landed;
  index.plan([...ended.keys()]);
  for (const [rolloutId, attempt] of attempts) index.begin(rolloutId, attempt);
  // A run's id is what its rollouts' ids begin with.
  if (index.get("run_id") === undefined) index.set({ run_id: first.slice(0, first.indexOf(".")) });
  index.end([...ended.values()], {
    rollouts_bytes: `${rollouts.size}`,
    failures_bytes: `${failures.size}`,
  });
  return landed;
}

/** Bytes of a file that an index knows of. */
function knownBytes(index: RunIndex, fact: "rollouts_bytes" | "failures_bytes", file: JsonlWriter): number {
  const bytes = Number(index.get(fact) ?? 0);
  if (bytes <= file.size) return bytes;
  throw new ConfigError([
    `${file.path}: has ${file.size} bytes and the index knows of ${bytes}; bring the file back, or delete ${runFiles.index} and lose what is missing`,
  ]);
}

/** Where an episode stands after a failed attempt that is filed. */
function stateAfter({ final, failure }: FailureRecord): EpisodeState {
  if (!final) return "planned";
  return (failure as { readonly retry?: string }).retry === "RETRY_NEW_ATTEMPT" ? "exhausted" : "failed";
}
