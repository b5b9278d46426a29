import { create } from "@bufbuild/protobuf";
import {
  type Choice,
  LogprobKind,
  type TokenRecord,
  TokenRecordSchema,
  WeightSpanSchema,
} from "../../gen/index.js";
import type { ModelCall } from "./define-model.js";
import { invalidOutput } from "./invalid-output.js";
import { countOf, firstDifference, logprobsOfBytes, tokenBytes } from "./token-bytes.js";

/**
 * The token record of a choice, whole or none (MDL-LOGP-007), with what the runtime knows filled in. Throws
 * MODEL_INVALID_OUTPUT where ids, log-probs, weights or prefix are not what they must be; nothing is padded, cut or made
 * a number (field-case-80, field-case-82).
 */
export function checkTokens(
  choice: Choice,
  call: ModelCall,
  weightsVersion: string,
): TokenRecord | undefined {
  const { tokens } = choice;
  if (tokens === undefined || !call.wantTokenIds) return undefined;
  const { index } = choice;
  const record = create(TokenRecordSchema, {
    ...tokens,
    callId: call.callId,
    choiceIndex: index,
    finishReason: choice.finishReason,
    sampling: tokens.sampling ?? call.sampling,
  });
  const output = idCount(record.outputTokenIds, `output ids of choice ${index}`);
  // Nothing was generated: there is nothing to tell the tokens of.
  if (output === 0 && choice.items.length === 0) return undefined;
  if (output === 0) throw invalidOutput(`choice ${index} says something in 0 output tokens`);
  if (idCount(record.promptTokenIds, `prompt ids of choice ${index}`) === 0) {
    throw invalidOutput(`choice ${index} has ${output} output tokens and 0 prompt tokens`);
  }
  checkBeginning(record, call);
  if (call.wantLogprobs) checkLogprobs(record, output);
  else {
    record.outputLogprobs = new Uint8Array();
    record.logprobKind = LogprobKind.UNSPECIFIED;
  }
  if (record.weightSpans.length === 0) {
    record.weightSpans = [create(WeightSpanSchema, { fromToken: 0, version: weightsVersion })];
  }
  checkWeightSpans(record, output);
  return record;
}

function idCount(bytes: Uint8Array, what: string): number {
  if (bytes.length % tokenBytes !== 0) {
    throw invalidOutput(`${what}: expected ${tokenBytes} bytes an id, found ${bytes.length} bytes`);
  }
  return countOf(bytes);
}

/** MDL-LOGP-003: with prefix_token_ids the prompt begins with exactly them. */
function checkBeginning(record: TokenRecord, { prompt }: ModelCall): void {
  const index = firstDifference(record.promptTokenIds, prompt.prefixTokenIds);
  if (index === undefined) return;
  throw invalidOutput(
    `the prompt does not begin with the ${countOf(prompt.prefixTokenIds)} ids of prefix_token_ids: they differ from index ${index} on`,
    { index },
  );
}

/** MDL-LOGP-001: one finite log-prob for each output id, and what they are of. */
function checkLogprobs(record: TokenRecord, ids: number): void {
  const { choiceIndex, outputLogprobs } = record;
  const logprobs = outputLogprobs.length / tokenBytes;
  if (logprobs !== ids) {
    throw invalidOutput(`choice ${choiceIndex} has ${ids} output ids and ${logprobs} log-probs`, {
      output_ids: ids,
      logprobs,
    });
  }
  const index = logprobsOfBytes(outputLogprobs).findIndex((logprob) => !Number.isFinite(logprob));
  if (index >= 0) {
    throw invalidOutput(`choice ${choiceIndex} has a log-prob at index ${index} that is no finite number`, {
      index,
    });
  }
  if (record.logprobKind === LogprobKind.UNSPECIFIED) {
    throw invalidOutput(`choice ${choiceIndex} has log-probs and does not tell what they are of`);
  }
}

/** MDL-LOGP-002: spans cover the output, the first from 0 on, none empty, each with its version. */
function checkWeightSpans({ choiceIndex, weightSpans }: TokenRecord, output: number): void {
  weightSpans.forEach(({ fromToken, version }, i) => {
    const before = weightSpans[i - 1]?.fromToken;
    const follows = before === undefined ? fromToken === 0 : fromToken > before;
    if (!follows || fromToken >= output || version === "") {
      throw invalidOutput(
        `span ${i} of the weights of choice ${choiceIndex} begins at token ${fromToken} of ${output} with version "${version}"`,
      );
    }
  });
}
