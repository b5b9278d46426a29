import { setImmediate } from "node:timers/promises";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type ChoiceSchema,
  FinishReason,
  type Item,
  ItemSchema,
  LogprobKind,
  type Sampling,
  SamplingSchema,
  type TokenRecordSchema,
  type UsageSchema,
} from "../../../gen/index.js";
import { defineModel, type Generated, type ModelCall, type ModelDefinition } from "../define-model.js";
import { pieceOf } from "../pieces.js";
import { bytesOfIds, bytesOfLogprobs } from "../token-bytes.js";
import { type Answer, generateAnswer } from "./answer.js";
import { toyLogprobs } from "./logprobs.js";
import { renderItem, renderPrompt } from "./render.js";
import { type Saying, tokensOf } from "./saying.js";

/** What a toy model is made of. */
export interface ToyModel {
  readonly name: string;
  readonly version: string;
  readonly model: string;
  readonly weightsVersion: string;
  readonly contextTokens: number;
  readonly maxOutputTokens?: number | undefined;
  /** What it says in a call. */
  say(call: ModelCall): Promise<Saying>;
}

/** Choices that a toy model answers at most. */
const maxChoices = 16;
/** Characters of a piece that a stream shows. */
const pieceLength = 24;

/**
 * A model whose words are given and whose tokens are real all the same: prompt and answer are tokenised by the toy
 * tokenizer, so that usage, limits, stops, prefixes and token records are what the contract says of any model. Sampling
 * changes no word; tool_choice and response_schema_json are not heeded.
 */
export function toyModel(toy: ToyModel): ModelDefinition {
  return defineModel({
    name: toy.name,
    version: toy.version,
    model: toy.model,
    weightsVersion: toy.weightsVersion,
    contextTokens: toy.contextTokens,
    ...(toy.maxOutputTokens === undefined ? {} : { maxOutputTokens: toy.maxOutputTokens }),
    maxChoices,
    tokens: "logprobs",
    async generate(call) {
      const prompt = renderPrompt(call.prompt);
      const sampling = samplingAsUsed(toy, call.sampling);
      const room = toy.contextTokens - prompt.length;
      // MDL-GEN-003: no room for an answer, no answer.
      if (room <= 0) return overlong(prompt.length, call.choiceCount);
      const saying = await toy.say(call);
      const choices = Array.from({ length: call.choiceCount }, (_, index) =>
        choose({ toy, call, saying, prompt, sampling, room, index }),
      );
      for (const { choice } of choices) await showPieces(call, choice);
      return {
        choices: choices.map(({ choice }) => choice),
        usage: usageOf(prompt.length, choices, saying),
        ...(saying.weightsVersion === undefined ? {} : { weightsVersion: saying.weightsVersion }),
      };
    },
    countTokens: async (prompt) => renderPrompt(prompt).length,
  });
}

/** Sampling as used, every field set (MDL-LOGP-010). */
function samplingAsUsed({ maxOutputTokens, contextTokens }: ToyModel, asked: Sampling): Sampling {
  const most = BigInt(maxOutputTokens ?? contextTokens);
  const limit = asked.maxOutputTokens ?? most;
  return create(SamplingSchema, {
    temperature: 1,
    topP: 1,
    topK: 0,
    minP: 0,
    presencePenalty: 0,
    frequencyPenalty: 0,
    repetitionPenalty: 1,
    seed: 0n,
    ...asked,
    maxOutputTokens: limit < most ? limit : most,
  });
}

interface Choosing {
  readonly toy: ToyModel;
  readonly call: ModelCall;
  readonly saying: Saying;
  readonly prompt: readonly number[];
  readonly sampling: Sampling;
  /** Tokens that the context has left. */
  readonly room: number;
  readonly index: number;
}

interface ToyChoice {
  readonly choice: MessageInitShape<typeof ChoiceSchema> & { readonly items: readonly Item[] };
  readonly answer: Answer;
}

function choose({ toy, call, saying, prompt, sampling, room, index }: Choosing): ToyChoice {
  const limit = Number(sampling.maxOutputTokens ?? BigInt(room));
  const says = withCallIds(saying.items, call, index);
  const answer = generateAnswer(saying.outputTokenIds ?? tokensOf({ items: says, cut: saying.cut }), says, {
    tokens: Math.min(limit, room),
    stop: sampling.stop,
    stopTokenIds: sampling.stopTokenIds,
  });
  const finishReason = finishOf(
    answer,
    saying,
    limit <= room ? FinishReason.LENGTH : FinishReason.CONTEXT_LENGTH,
  );
  const items = answer.items.map((item, i) =>
    create(ItemSchema, {
      ...item,
      itemId: `${call.callId}-${index}-${i}`,
      turnId: `${call.callId}-${index}`,
    }),
  );
  const choice = { index, items, finishReason };
  if (!call.wantTokenIds) return { choice, answer };
  const weightsVersion = saying.weightsVersion ?? toy.weightsVersion;
  const tokens: MessageInitShape<typeof TokenRecordSchema> = {
    promptTokenIds: bytesOfIds(prompt),
    outputTokenIds: bytesOfIds(answer.ids),
    weightSpans: [{ fromToken: 0, version: weightsVersion }],
    sampling,
    ...(call.wantLogprobs
      ? {
          outputLogprobs: bytesOfLogprobs(logprobsOf(answer, saying, sampling, index)),
          logprobKind: LogprobKind.RAW,
        }
      : {}),
  };
  return { choice: { ...choice, tokens }, answer };
}

/** Told log-probs are told as they are, for an answer that is whole even where their number is wrong. */
function logprobsOf(answer: Answer, saying: Saying, sampling: Sampling, index: number): readonly number[] {
  if (saying.logprobs === undefined) return toyLogprobs(answer.ids.length, sampling.seed ?? 0n, index);
  return answer.end === "whole" ? saying.logprobs : saying.logprobs.slice(0, answer.ids.length);
}

function finishOf({ end, items }: Answer, { finish }: Saying, limit: FinishReason): FinishReason {
  switch (end) {
    case "limit":
      return limit;
    case "stop":
      return FinishReason.STOP;
    case "whole":
      if (finish !== undefined) return finish;
      return items.some(({ kind }) => kind.case === "toolCall") ? FinishReason.TOOL_CALLS : FinishReason.STOP;
  }
}

/** Gives each tool call an id that is unique in the conversation (MDL-TOOL-001) and the same at every run. */
function withCallIds(items: readonly Item[], { prompt }: ModelCall, choiceIndex: number): Item[] {
  const suffix = choiceIndex === 0 ? "" : `_${choiceIndex}`;
  const taken = new Set(
    [...prompt.items, ...items].flatMap(({ kind }) => (kind.case === "toolCall" ? [kind.value.callId] : [])),
  );
  let next = 0;
  return items.map((item) => {
    if (item.kind.case !== "toolCall") return item;
    const call = item.kind.value;
    let callId = call.callId === "" ? "" : `${call.callId}${suffix}`;
    while (callId === "" || (call.callId === "" && taken.has(callId))) {
      callId = `call_${next}${suffix}`;
      next += 1;
    }
    taken.add(callId);
    return create(ItemSchema, { kind: { case: "toolCall", value: { ...call, callId } } });
  });
}

function overlong(promptTokens: number, choiceCount: number): Generated {
  return {
    choices: Array.from({ length: choiceCount }, () => ({ finishReason: FinishReason.CONTEXT_LENGTH })),
    usage: { inputTokens: BigInt(promptTokens) },
  };
}

/** What was counted, or what the saying tells instead (MDL-GEN-007). */
function usageOf(
  promptTokens: number,
  choices: readonly ToyChoice[],
  { usage = {} }: Saying,
): MessageInitShape<typeof UsageSchema> {
  const output = choices.reduce((sum, { answer }) => sum + answer.ids.length, 0);
  const reasoning = choices
    .flatMap(({ answer }) => answer.items)
    .filter(({ kind }) => kind.case === "reasoning")
    .reduce((sum, item) => sum + renderItem(item).length, 0);
  return {
    inputTokens: BigInt(usage.inputTokens ?? promptTokens),
    cachedInputTokens: BigInt(usage.cachedInputTokens ?? 0),
    outputTokens: BigInt(usage.outputTokens ?? output),
    reasoningTokens: BigInt(usage.reasoningTokens ?? Math.min(reasoning, output)),
    ...(usage.costUsd === undefined ? {} : { costUsd: usage.costUsd }),
  };
}

/** Shows an answer in pieces, one after the other; they add up to it (MDL-GEN-009). */
async function showPieces(
  { streaming, onDelta, signal }: ModelCall,
  { index = 0, items }: ToyChoice["choice"],
): Promise<void> {
  if (!streaming) return;
  for (const item of items) {
    const whole = pieceOf(item);
    if (whole === undefined) continue;
    const characters = [...whole.text];
    for (let at = 0; at < characters.length; at += pieceLength) {
      onDelta(index, { ...whole, text: characters.slice(at, at + pieceLength).join("") });
      // Lets a reader take it before the next one comes.
      await setImmediate(undefined, { signal });
    }
  }
}
