import { create } from "@bufbuild/protobuf";
import { type Budget, BudgetSchema } from "../../gen/index.js";
import { definedFields } from "./defined-fields.js";
import { fromMs, toMs } from "./duration.js";

/** Of each bound the smaller one: what holds where both budgets do (AGT-OPEN-001). */
export function tighterBudget(a: Budget | undefined, b: Budget | undefined): Budget {
  const wall = least(a?.wallTime && toMs(a.wallTime), b?.wallTime && toMs(b.wallTime));
  const bounds = {
    maxTurns: least(a?.maxTurns, b?.maxTurns),
    maxToolCalls: least(a?.maxToolCalls, b?.maxToolCalls),
    maxOutputTokens: least(a?.maxOutputTokens, b?.maxOutputTokens),
    maxTotalTokens: least(a?.maxTotalTokens, b?.maxTotalTokens),
    maxContextTokens: least(a?.maxContextTokens, b?.maxContextTokens),
    maxCostUsd: least(a?.maxCostUsd, b?.maxCostUsd),
    wallTime: wall === undefined ? undefined : fromMs(wall),
  };
  return create(BudgetSchema, definedFields(bounds));
}

function least<T extends number | bigint>(a: T | undefined, b: T | undefined): T | undefined {
  if (a === undefined) return b;
  return b === undefined || a < b ? a : b;
}
