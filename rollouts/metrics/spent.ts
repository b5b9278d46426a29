/** What agents and environment used. */
export interface Spent {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly model_calls: number;
  /** Sum of the costs that are known; null: no prices are known. */
  readonly cost_usd: number | null;
}

/** EpisodeOutcome.usage in the contract's JSON, where 64-bit numbers are text. */
interface UsageJson {
  readonly usage?: readonly {
    readonly usage?: {
      readonly inputTokens?: string;
      readonly outputTokens?: string;
      readonly modelCalls?: number;
      readonly costUsd?: number;
    };
  }[];
}

/** What an outcome says that was used, all roles together. */
export function spentOf(outcome: unknown): Spent {
  return sumSpent(
    ((outcome as UsageJson | null)?.usage ?? []).map(({ usage = {} }) => ({
      input_tokens: Number(usage.inputTokens ?? 0),
      output_tokens: Number(usage.outputTokens ?? 0),
      model_calls: usage.modelCalls ?? 0,
      cost_usd: usage.costUsd ?? null,
    })),
  );
}

/** All together. */
export function sumSpent(all: readonly Spent[]): Spent {
  const sum = { input_tokens: 0, output_tokens: 0, model_calls: 0, cost_usd: null as number | null };
  for (const { input_tokens, output_tokens, model_calls, cost_usd } of all) {
    sum.input_tokens += input_tokens;
    sum.output_tokens += output_tokens;
    sum.model_calls += model_calls;
    if (cost_usd !== null) sum.cost_usd = (sum.cost_usd ?? 0) + cost_usd;
  }
  return sum;
}
