import { FinishReason } from "../../../../../gen/index.js";
import type { Generated, ModelCall } from "../../../define-model.js";
import { invalidOutput } from "../../../invalid-output.js";
import { cutReason } from "../answer-limit.js";
import { asObject } from "../extra.js";
import type { OpenaiOptions } from "../options.js";
import { AnswerableError } from "../upstream.js";
import { brokenAnswer } from "../upstream-error.js";
import { responsesItems } from "./responses-items.js";
import type { Entry, ResponsesAnswer } from "./responses-schema.js";

/** What a whole answer says; `limit`: tokens that it was allowed. */
export function readResponse(
  options: OpenaiOptions,
  call: ModelCall,
  { answer, limit }: { readonly answer: ResponsesAnswer; readonly limit: number | undefined },
): Generated {
  const { status, usage, output } = answer;
  if (status === "failed") throw failed(answer.error?.code ?? "");
  if (status !== "completed" && status !== "incomplete") {
    throw invalidOutput("the upstream's answer cannot be read: status is none that an answer has");
  }
  if (!usage) throw invalidOutput("the upstream's answer cannot be read: usage is missing");
  const cut = status === "incomplete";
  const tokens = { input: usage.input_tokens, output: usage.output_tokens, limit };
  return {
    choices: [
      {
        items: responsesItems(output, call.callId, cut),
        finishReason: cut ? cutFinish(answer, () => cutReason(options, tokens)) : finishOf(output),
      },
    ],
    usage: {
      inputTokens: BigInt(usage.input_tokens),
      cachedInputTokens: BigInt(usage.input_tokens_details?.cached_tokens ?? 0),
      outputTokens: BigInt(usage.output_tokens),
      reasoningTokens: BigInt(usage.output_tokens_details?.reasoning_tokens ?? 0),
    },
  };
}

/** The error of an answer that failed. */
export function failed(code: string): Error {
  if (code === "context_length_exceeded") return new AnswerableError({ kind: "context" });
  const name = /^[a-z0-9_.-]{1,64}$/i.test(code) ? code : "";
  return brokenAnswer({ kind: "failed", code: name });
}

function cutFinish(
  { incomplete_details: details }: ResponsesAnswer,
  limit: () => FinishReason,
): FinishReason {
  switch (details?.reason) {
    case "max_output_tokens":
    case "max_tokens":
      return limit();
    case "content_filter":
      return FinishReason.CONTENT_FILTER;
    default:
      throw invalidOutput(
        "the upstream's answer cannot be read: incomplete_details.reason is none that is known",
      );
  }
}

function finishOf(output: readonly Entry[]): FinishReason {
  if (output.some(({ type }) => type === "function_call")) return FinishReason.TOOL_CALLS;
  const refused = output.some(
    ({ type, ...entry }) => type === "message" && partsOf(entry["content"]).includes("refusal"),
  );
  return refused ? FinishReason.REFUSAL : FinishReason.STOP;
}

function partsOf(content: unknown): unknown[] {
  return Array.isArray(content) ? content.map((part) => asObject(part)?.["type"]) : [];
}
