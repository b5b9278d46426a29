import { create } from "@bufbuild/protobuf";
import {
  type Choice,
  ChoiceSchema,
  FinishReason,
  type GenerateResponse,
  GenerateResponseSchema,
  type Item,
  Role,
  type Usage,
  UsageSchema,
} from "../../gen/index.js";
import { checkTokens } from "./check-tokens.js";
import type { Generated, ModelCall, ModelDefinition } from "./define-model.js";
import { invalidOutput } from "./invalid-output.js";
import { countOf } from "./token-bytes.js";

/**
 * A model's answer as the contract has it, token records whole and not yet related to a parent. Throws
 * MODEL_INVALID_OUTPUT where it is not.
 */
export function checkAnswer(
  definition: ModelDefinition,
  call: ModelCall,
  generated: Generated,
): GenerateResponse {
  const weightsVersion = generated.weightsVersion ?? definition.weightsVersion;
  if (generated.choices.length !== call.choiceCount) {
    // MDL-GEN-001, MDL-GEN-004
    throw invalidOutput(
      `the model answered ${generated.choices.length} choices, ${call.choiceCount} were asked for`,
    );
  }
  const callIds = toolCallIds(call.prompt.items);
  const choices = generated.choices.map((init, index) => {
    const choice = create(ChoiceSchema, { ...init, index });
    checkFinish(choice);
    choice.items = choice.items.map((item, i) =>
      item.itemId === "" ? { ...item, itemId: `${call.callId}-${index}-${i}` } : item,
    );
    checkItems(choice, callIds);
    const tokens = checkTokens(choice, call, weightsVersion);
    delete choice.tokens;
    if (tokens !== undefined) choice.tokens = tokens;
    return choice;
  });
  const usage = create(UsageSchema, generated.usage);
  checkUsage(usage, choices);
  checkLimit(usage, choices, call);
  usage.modelCalls = 1;
  return create(GenerateResponseSchema, { callId: call.callId, choices, usage, weightsVersion });
}

function checkFinish({ index, finishReason }: Choice): void {
  if (finishReason === FinishReason.UNSPECIFIED || FinishReason[finishReason] === undefined) {
    throw invalidOutput(`choice ${index} does not tell why it ended`);
  }
}

/** A model says reasoning, tool calls and chat messages of its own, each tool call under an id of its own (MDL-TOOL-001). */
function checkItems({ index, items }: Choice, callIds: Set<string>): void {
  for (const { kind } of items) {
    switch (kind.case) {
      case "chatMessage":
        if (kind.value.role === Role.ASSISTANT) break;
        throw invalidOutput(
          `choice ${index} holds a message of role ${Role[kind.value.role] ?? kind.value.role}`,
        );
      case "toolCall": {
        const { callId } = kind.value;
        if (callId === "" || Buffer.byteLength(callId) > 256) {
          throw invalidOutput(
            `choice ${index} holds a tool call whose id has ${Buffer.byteLength(callId)} bytes; expected 1 to 256`,
          );
        }
        if (callIds.has(callId)) {
          throw invalidOutput(`choice ${index} holds a tool call whose id an earlier tool call has`);
        }
        callIds.add(callId);
        break;
      }
      case "reasoning":
      case "opaque":
        break;
      case "toolResult":
      case undefined:
        throw invalidOutput(`choice ${index} holds an item that is neither said nor called by a model`);
    }
  }
}

function toolCallIds(items: readonly Item[]): Set<string> {
  return new Set(items.flatMap(({ kind }) => (kind.case === "toolCall" ? [kind.value.callId] : [])));
}

/** MDL-GEN-007: usage is told, and equals the tokens where they are known. */
function checkUsage(usage: Usage, choices: readonly Choice[]): void {
  // Of a prompt that it would not take, an upstream does not tell the length.
  const untaken = choices.every(
    ({ items, finishReason }) =>
      items.length === 0 &&
      (finishReason === FinishReason.CONTEXT_LENGTH || finishReason === FinishReason.CONTENT_FILTER),
  );
  if (usage.inputTokens === 0n && !untaken)
    throw invalidOutput("the model did not tell how many tokens the prompt has");
  const records = choices.flatMap(({ tokens }) => tokens ?? []);
  const [first] = records;
  if (first === undefined || records.length !== choices.length) return;
  const input = countOf(first.promptTokenIds);
  const output = records.reduce((sum, { outputTokenIds }) => sum + countOf(outputTokenIds), 0);
  if (usage.inputTokens !== BigInt(input) || usage.outputTokens !== BigInt(output)) {
    throw invalidOutput(
      `usage tells ${usage.inputTokens} input and ${usage.outputTokens} output tokens, the ids are ${input} and ${output}`,
    );
  }
}

/** MDL-GEN-002: the token limit is hard. */
function checkLimit(usage: Usage, choices: readonly Choice[], { sampling }: ModelCall): void {
  const { maxOutputTokens: limit } = sampling;
  if (limit === undefined) return;
  for (const { index, tokens } of choices) {
    const output = tokens === undefined ? undefined : BigInt(countOf(tokens.outputTokenIds));
    const known = output ?? (choices.length === 1 ? usage.outputTokens : 0n);
    if (known > limit)
      throw invalidOutput(`choice ${index} has ${known} output tokens; at most ${limit} were asked for`);
  }
}
