import { FailureKind } from "../../../gen/index.js";
import { Refusal } from "../../runtime/refusal.js";
import { authorFault } from "../author-fault.js";

/** Where a session of several stages stands (feature STAGES). */
export interface StageProgress {
  /** Names of all stages. */
  readonly names: readonly string[];
  /** The stage that it is at, from 0. */
  index: number;
  /** The stage has its verdict. */
  verified: boolean;
  /** No stage follows: a verdict said so. */
  over: boolean;
}

/** The progress of a session at its first stage; undefined for a task of one piece. */
export function firstStage(
  names: readonly string[] | undefined,
  canAdvance: boolean,
): StageProgress | undefined {
  if (names === undefined) return undefined;
  if (!canAdvance || names.length === 0) {
    throw authorFault(
      FailureKind.SEED_FAILED,
      "stages: expected at least one, of an environment that defines advance",
    );
  }
  return { names: [...names], index: 0, verified: false, over: false };
}

/** Refuses a stage that may not begin now (ENV-STAG-005; OUT_OF_ORDER where the current one has no verdict). */
export function checkAdvance(stages: StageProgress | undefined): void {
  if (stages === undefined) {
    throw new Refusal("EPISODE_ENDED", "the task is of one piece: it has no further stage");
  }
  if (stages.over || stages.index + 1 >= stages.names.length) {
    throw new Refusal("EPISODE_ENDED", "no stage follows the current one");
  }
  if (!stages.verified) {
    throw new Refusal(
      "OUT_OF_ORDER",
      `stage ${stages.index} has no verdict yet: verify it before the next one begins`,
      { metadata: { expected_index: String(stages.index + 1) } },
    );
  }
}
