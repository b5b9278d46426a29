import type { FinishReason, Item } from "../../../gen/index.js";
import { renderItem } from "./render.js";

/** What usage is told instead of what was counted. */
export interface ToldUsage {
  readonly inputTokens?: number;
  readonly cachedInputTokens?: number;
  readonly outputTokens?: number;
  readonly reasoningTokens?: number;
  readonly costUsd?: number;
}

/** What a toy model says in one call. */
export interface Saying {
  /** Chat messages, reasoning and tool calls; a tool call without a call_id gets one that the conversation lacks. */
  readonly items: readonly Item[];
  /** Why it ends; absent: TOOL_CALLS where it calls tools, else STOP. */
  readonly finish?: FinishReason | undefined;
  /** It was cut: its last item has no end. */
  readonly cut?: boolean | undefined;
  /** How the items were spelled; absent: canonically. */
  readonly outputTokenIds?: readonly number[] | undefined;
  /** Log-probs, told as they are; absent: made from the seed. */
  readonly logprobs?: readonly number[] | undefined;
  readonly usage?: ToldUsage | undefined;
  /** Version of the weights that say it; absent: the model's. */
  readonly weightsVersion?: string | undefined;
}

/** The canonical tokens of what is said: its items, one after the other; the last end is the stop token. */
export function tokensOf({ items, cut }: Pick<Saying, "items" | "cut">): number[] {
  const ids = items.flatMap(renderItem);
  return cut === true ? ids.slice(0, -1) : ids;
}
