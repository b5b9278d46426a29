import { create } from "@bufbuild/protobuf";
import { type Budget, BudgetSchema, StopReason, type Usage } from "../../gen/index.js";
import { definedFields } from "../runtime/defined-fields.js";
import { fromMs, toMs } from "../runtime/duration.js";

/** What an agent has used of its budget so far. */
export interface Spent {
  readonly usage: Usage;
  /** Time that its turns took, in milliseconds. */
  readonly wallMs: number;
}

/** What is left of a budget for all turns of an agent, for its next one; or why there is no next one. */
export function remainingBudget(
  whole: Budget,
  { usage, wallMs }: Spent,
): { readonly left: Budget } | { readonly spent: StopReason } {
  const total = usage.inputTokens + usage.outputTokens;
  const wall = whole.wallTime === undefined ? undefined : toMs(whole.wallTime) - wallMs;
  const left = {
    maxTurns: less(whole.maxTurns, usage.modelCalls),
    maxToolCalls: less(whole.maxToolCalls, usage.toolCalls),
    maxOutputTokens: lessBig(whole.maxOutputTokens, usage.outputTokens),
    maxTotalTokens: lessBig(whole.maxTotalTokens, total),
    maxContextTokens: whole.maxContextTokens,
    maxCostUsd: less(whole.maxCostUsd, usage.costUsd ?? 0),
  };
  const isSpent = (bound: number | bigint | undefined): boolean => bound !== undefined && bound <= 0;
  if (isSpent(left.maxTurns) || isSpent(left.maxToolCalls)) return { spent: StopReason.MAX_TURNS };
  if (isSpent(left.maxOutputTokens) || isSpent(left.maxTotalTokens)) return { spent: StopReason.MAX_TOKENS };
  if (isSpent(left.maxCostUsd)) return { spent: StopReason.MAX_COST };
  if (isSpent(wall)) return { spent: StopReason.WALL_TIME };
  const wallTime = wall === undefined ? undefined : fromMs(wall);
  return { left: create(BudgetSchema, definedFields({ ...left, wallTime })) };
}

function less(bound: number | undefined, used: number): number | undefined {
  return bound === undefined ? undefined : bound - used;
}

function lessBig(bound: bigint | undefined, used: bigint): bigint | undefined {
  return bound === undefined ? undefined : bound - used;
}
