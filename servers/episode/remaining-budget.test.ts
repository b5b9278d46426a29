import { create } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { BudgetSchema, StopReason, UsageSchema } from "../../gen/index.js";
import { fromMs } from "../runtime/duration.js";
import { remainingBudget } from "./remaining-budget.js";

const usage = create(UsageSchema, {
  inputTokens: 10n,
  outputTokens: 5n,
  modelCalls: 2,
  toolCalls: 1,
  costUsd: 0.5,
});
const spent = { usage, wallMs: 1000 };

it("subtracts what was used of each bound; the context is each prompt's own", () => {
  const whole = create(BudgetSchema, {
    maxTurns: 3,
    maxToolCalls: 4,
    maxOutputTokens: 6n,
    maxTotalTokens: 20n,
    maxContextTokens: 8n,
    maxCostUsd: 2,
    wallTime: fromMs(1500),
  });
  expect(remainingBudget(whole, spent)).toEqual({
    left: create(BudgetSchema, {
      maxTurns: 1,
      maxToolCalls: 3,
      maxOutputTokens: 1n,
      maxTotalTokens: 5n,
      maxContextTokens: 8n,
      maxCostUsd: 1.5,
      wallTime: fromMs(500),
    }),
  });
  expect(remainingBudget(create(BudgetSchema), spent)).toEqual({ left: create(BudgetSchema) });
});

it.each([
  [{ maxTurns: 2 }, StopReason.MAX_TURNS],
  [{ maxToolCalls: 1 }, StopReason.MAX_TURNS],
  [{ maxOutputTokens: 5n }, StopReason.MAX_TOKENS],
  [{ maxTotalTokens: 12n }, StopReason.MAX_TOKENS],
  [{ maxCostUsd: 0.5 }, StopReason.MAX_COST],
  [{ wallTime: fromMs(1000) }, StopReason.WALL_TIME],
])("says which bound is spent: %o", (whole, reason) => {
  expect(remainingBudget(create(BudgetSchema, whole), spent)).toEqual({ spent: reason });
});
