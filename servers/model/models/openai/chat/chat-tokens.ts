import type { MessageInitShape } from "@bufbuild/protobuf";
import { LogprobKind, type TokenRecordSchema } from "../../../../../gen/index.js";
import type { ModelCall } from "../../../define-model.js";
import { invalidOutput } from "../../../invalid-output.js";
import { bytesOfIds, bytesOfLogprobs } from "../../../token-bytes.js";
import type { OpenaiOptions } from "../options.js";
import type { Completion, CompletionChoice } from "./chat-schema.js";

/** Where a choice's tokens are told. */
export interface ToldTokens {
  readonly completion: Completion;
  readonly choice: CompletionChoice;
  /** Tokens that an answer was allowed. */
  readonly limit: number | undefined;
}

/**
 * The token record of a choice as the upstream tells it, nothing padded or cut; undefined: it does not tell it whole.
 * Throws MODEL_INVALID_OUTPUT where ids and log-probs are of different tokens (field-case-80).
 */
export function chatTokens(
  options: OpenaiOptions,
  call: ModelCall,
  { completion, choice, limit }: ToldTokens,
): MessageInitShape<typeof TokenRecordSchema> | undefined {
  const { prompt_token_ids: prompt } = completion;
  const { token_ids: ids } = choice;
  if (!call.wantTokenIds || !prompt || !ids) return undefined;
  const record = {
    promptTokenIds: bytesOfIds(prompt),
    outputTokenIds: bytesOfIds(ids),
    // What the upstream chooses for itself, it does not tell.
    sampling: { ...call.sampling, ...(limit === undefined ? {} : { maxOutputTokens: BigInt(limit) }) },
  };
  if (!call.wantLogprobs) return record;
  const told = choice.logprobs?.content ?? [];
  told.forEach(({ token }, i) => {
    const id = /^token_id:(\d+)$/.exec(token)?.[1];
    if (id !== undefined && ids[i] !== undefined && Number(id) !== ids[i]) {
      throw invalidOutput(`token ids and log-probs are of different tokens from index ${i} on`, { index: i });
    }
  });
  return {
    ...record,
    outputLogprobs: bytesOfLogprobs(told.map(({ logprob }) => numberOf(logprob))),
    logprobKind: options.logprob_kind === "raw" ? LogprobKind.RAW : LogprobKind.PROCESSED,
  };
}

/** A log-prob; what is none stays what it is, so that it is found and told with its index (field-case-82). */
function numberOf(logprob: unknown): number {
  return logprob === null ? Number.NaN : Number(logprob);
}
