import { clone, create } from "@bufbuild/protobuf";
import { type Budget, StopReason, type Usage, UsageSchema } from "../../gen/index.js";
import { fromMs } from "../runtime/duration.js";
import { addUsage } from "../runtime/usage.js";

/** Counts what a turn uses, and says when its budget is spent. A budget counts for its own turn (AGT-ACT-027). */
export class BudgetMeter {
  readonly #usage: Usage = create(UsageSchema, { modelTime: fromMs(0), toolTime: fromMs(0) });
  readonly #budget: Budget;
  #contextTokens = 0n;

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  /** What was used so far: a copy, which what comes later does not change. */
  get usage(): Usage {
    return clone(UsageSchema, this.#usage);
  }

  /** Why no model call may follow; undefined: one may. */
  beforeModelCall(): StopReason | undefined {
    const { maxTurns } = this.#budget;
    if (maxTurns !== undefined && this.#usage.modelCalls >= maxTurns) return StopReason.MAX_TURNS;
    return this.#over((used, most) => used >= most);
  }

  /** Why nothing may follow an answer that went beyond the budget; undefined: it did not. */
  afterModelCall(): StopReason | undefined {
    return this.#over((used, most) => used > most);
  }

  /** Why no tool call may follow; undefined: one may. */
  beforeToolCall(): StopReason | undefined {
    const { maxToolCalls } = this.#budget;
    const spent = maxToolCalls !== undefined && this.#usage.toolCalls >= maxToolCalls;
    return spent ? StopReason.MAX_TURNS : undefined;
  }

  /** Tokens that the next answer may have at most; undefined: no bound. */
  get outputTokensLeft(): bigint | undefined {
    const { maxOutputTokens, maxTotalTokens, maxContextTokens } = this.#budget;
    const { inputTokens, outputTokens } = this.#usage;
    const left = [
      maxOutputTokens === undefined ? undefined : maxOutputTokens - outputTokens,
      maxTotalTokens === undefined ? undefined : maxTotalTokens - inputTokens - outputTokens,
      // The next prompt is no shorter than the last one with its answer.
      maxContextTokens === undefined ? undefined : maxContextTokens - this.#contextTokens,
    ];
    return left.reduce((a, b) => (a === undefined || (b !== undefined && b < a) ? b : a), undefined);
  }

  /** Why an answer was cut where the limit of its tokens was reached. */
  get cutBy(): StopReason {
    const { maxContextTokens } = this.#budget;
    const full = maxContextTokens !== undefined && this.#contextTokens >= maxContextTokens;
    return full ? StopReason.CONTEXT_LENGTH : StopReason.MAX_TOKENS;
  }

  /** A model call begins: it counts whatever becomes of it. */
  modelCallBegun(): void {
    this.#usage.modelCalls += 1;
  }

  /** A model call has ended; what the model reported is counted once (AGT-ACT-011). */
  modelCallEnded(reported: Usage | undefined, ms: number): void {
    if (reported !== undefined) this.#contextTokens = reported.inputTokens + reported.outputTokens;
    // The time is what was waited here, queues included, whatever the model says of its own.
    const own = { modelCalls: 0, toolCalls: 0, modelTime: fromMs(ms), toolTime: fromMs(0) };
    addUsage(this.#usage, { ...(reported ?? create(UsageSchema)), ...own });
  }

  /** A tool call begins. */
  toolCallBegun(): void {
    this.#usage.toolCalls += 1;
  }

  /** A tool call has ended. */
  toolCallEnded(ms: number): void {
    addUsage(this.#usage, create(UsageSchema, { toolTime: fromMs(ms) }));
  }

  #over(passes: (used: number | bigint, most: number | bigint) => boolean): StopReason | undefined {
    const { maxOutputTokens, maxTotalTokens, maxContextTokens, maxCostUsd } = this.#budget;
    const { inputTokens, outputTokens, costUsd } = this.#usage;
    if (maxOutputTokens !== undefined && passes(outputTokens, maxOutputTokens)) return StopReason.MAX_TOKENS;
    if (maxTotalTokens !== undefined && passes(inputTokens + outputTokens, maxTotalTokens)) {
      return StopReason.MAX_TOKENS;
    }
    if (maxContextTokens !== undefined && passes(this.#contextTokens, maxContextTokens)) {
      return StopReason.CONTEXT_LENGTH;
    }
    if (maxCostUsd !== undefined && passes(costUsd ?? 0, maxCostUsd)) return StopReason.MAX_COST;
    return undefined;
  }
}
