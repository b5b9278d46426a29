import { create } from "@bufbuild/protobuf";
import {
  type CountTokensRequest,
  type CountTokensResponse,
  CountTokensResponseSchema,
  PromptSchema,
} from "../../gen/index.js";
import { admittedCall, type Origin } from "./admitted-call.js";
import { checkPrompt } from "./check-prompt.js";
import { askExtended } from "./extended-prompt.js";
import type { ModelContext } from "./model-context.js";

/** Tokens that a prompt has: those that Generate would tell, asked with the same key (MDL-GEN-008). */
export async function countTokens(
  context: ModelContext,
  request: CountTokensRequest,
  origin: Origin,
): Promise<CountTokensResponse> {
  const { definition } = context;
  const prompt = request.prompt ?? create(PromptSchema);
  checkPrompt(definition, prompt, "prompt");
  const parent = origin.gateway?.state.capture.parentOf(prompt.items);
  // An upstream that counts is asked like one that continues: within the same cap.
  const tokens = await admittedCall(context, origin, ({ signal, until }) =>
    until(askExtended(prompt, parent, (extended) => definition.countTokens(extended, signal))),
  );
  return create(CountTokensResponseSchema, { inputTokens: BigInt(tokens) });
}
