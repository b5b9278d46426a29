import type { Usage } from "../../gen/index.js";
import { fromMs, toMs } from "./duration.js";

/** Adds what a part used to what the whole used; a cost is known once any part's is. */
export function addUsage(total: Usage, part: Usage): void {
  total.inputTokens += part.inputTokens;
  total.cachedInputTokens += part.cachedInputTokens;
  total.outputTokens += part.outputTokens;
  total.reasoningTokens += part.reasoningTokens;
  total.modelCalls += part.modelCalls;
  total.toolCalls += part.toolCalls;
  total.modelTime = sum(total.modelTime, part.modelTime);
  total.toolTime = sum(total.toolTime, part.toolTime);
  if (part.costUsd !== undefined) total.costUsd = (total.costUsd ?? 0) + part.costUsd;
}

function sum(a: Usage["modelTime"], b: Usage["modelTime"]): NonNullable<Usage["modelTime"]> {
  return fromMs((a === undefined ? 0 : toMs(a)) + (b === undefined ? 0 : toMs(b)));
}
