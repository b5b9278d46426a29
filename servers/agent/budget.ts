import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Budget, BudgetSchema, StopReason, type Usage, UsageSchema } from "../../gen/index.js";
import { definedFields } from "../runtime/defined-fields.js";
import { fromMs, toMs } from "../runtime/duration.js";

/** What is enforced of a budget that was asked for: of each bound the smaller one (AGT-OPEN-001). */
export function enforced(
  asked: Budget | undefined,
  most: MessageInitShape<typeof BudgetSchema> | undefined,
): Budget {
  const a = asked ?? create(BudgetSchema);
  const b = create(BudgetSchema, most ?? {});
  const wall = least(a.wallTime && toMs(a.wallTime), b.wallTime && toMs(b.wallTime));
  const bounds = {
    maxTurns: least(a.maxTurns, b.maxTurns),
    maxToolCalls: least(a.maxToolCalls, b.maxToolCalls),
    maxOutputTokens: least(a.maxOutputTokens, b.maxOutputTokens),
    maxTotalTokens: least(a.maxTotalTokens, b.maxTotalTokens),
    maxContextTokens: least(a.maxContextTokens, b.maxContextTokens),
    maxCostUsd: least(a.maxCostUsd, b.maxCostUsd),
    wallTime: wall === undefined ? undefined : fromMs(wall),
  };
  return create(BudgetSchema, definedFields(bounds));
}

function least<T extends number | bigint>(a: T | undefined, b: T | undefined): T | undefined {
  if (a === undefined) return b;
  return b === undefined || a < b ? a : b;
}

/** Counts what a turn uses, and says when its budget is spent. A budget counts for its own turn (AGT-ACT-027). */
export class BudgetMeter {
  readonly usage: Usage = create(UsageSchema, { modelTime: fromMs(0), toolTime: fromMs(0) });
  #contextTokens = 0n;

  constructor(private readonly budget: Budget) {}

  /** Why no model call may follow; undefined: one may. */
  beforeModelCall(): StopReason | undefined {
    const { budget, usage } = this;
    if (budget.maxTurns !== undefined && usage.modelCalls >= budget.maxTurns) return StopReason.MAX_TURNS;
    if (budget.maxOutputTokens !== undefined && usage.outputTokens >= budget.maxOutputTokens) {
      return StopReason.MAX_TOKENS;
    }
    if (
      budget.maxTotalTokens !== undefined &&
      usage.inputTokens + usage.outputTokens >= budget.maxTotalTokens
    ) {
      return StopReason.MAX_TOKENS;
    }
    if (budget.maxContextTokens !== undefined && this.#contextTokens >= budget.maxContextTokens) {
      return StopReason.CONTEXT_LENGTH;
    }
    if (budget.maxCostUsd !== undefined && (usage.costUsd ?? 0) >= budget.maxCostUsd)
      return StopReason.MAX_COST;
    return undefined;
  }

  /** Why no tool call may follow; undefined: one may. */
  beforeToolCall(): StopReason | undefined {
    const { maxToolCalls } = this.budget;
    return maxToolCalls !== undefined && this.usage.toolCalls >= maxToolCalls
      ? StopReason.MAX_TURNS
      : undefined;
  }

  /** Tokens that the next answer may have; undefined: no bound. */
  get outputTokensLeft(): bigint | undefined {
    const { maxOutputTokens } = this.budget;
    return maxOutputTokens === undefined ? undefined : maxOutputTokens - this.usage.outputTokens;
  }

  /** A model call has ended; its usage is counted once (AGT-ACT-011). */
  addModelCall(used: Usage | undefined, ms: number): void {
    const { usage } = this;
    usage.modelCalls += 1;
    usage.modelTime = plus(usage.modelTime, ms);
    if (used === undefined) return;
    usage.inputTokens += used.inputTokens;
    usage.cachedInputTokens += used.cachedInputTokens;
    usage.outputTokens += used.outputTokens;
    usage.reasoningTokens += used.reasoningTokens;
    if (used.costUsd !== undefined) usage.costUsd = (usage.costUsd ?? 0) + used.costUsd;
    this.#contextTokens = used.inputTokens + used.outputTokens;
  }

  /** A tool call has ended. */
  addToolCall(ms: number): void {
    this.usage.toolCalls += 1;
    this.usage.toolTime = plus(this.usage.toolTime, ms);
  }
}

function plus(duration: Usage["modelTime"], ms: number): ReturnType<typeof fromMs> {
  return fromMs((duration === undefined ? 0 : toMs(duration)) + ms);
}

/** Adds what one turn used to what a session used. */
export function addUsage(total: Usage, turn: Usage): void {
  total.inputTokens += turn.inputTokens;
  total.cachedInputTokens += turn.cachedInputTokens;
  total.outputTokens += turn.outputTokens;
  total.reasoningTokens += turn.reasoningTokens;
  total.modelCalls += turn.modelCalls;
  total.toolCalls += turn.toolCalls;
  total.modelTime = plus(total.modelTime, turn.modelTime === undefined ? 0 : toMs(turn.modelTime));
  total.toolTime = plus(total.toolTime, turn.toolTime === undefined ? 0 : toMs(turn.toolTime));
  if (turn.costUsd !== undefined) total.costUsd = (total.costUsd ?? 0) + turn.costUsd;
}
