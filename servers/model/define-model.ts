import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  Choice,
  ChoiceSchema,
  EpisodeContext,
  Prompt,
  Sampling,
  TaskId,
  Usage,
  UsageSchema,
} from "../../gen/index.js";

/** One call of a model, checked: parameters are in range, every tool result has its call. */
export interface ModelCall {
  readonly prompt: Prompt;
  /** Sampling to use: what the gateway fixed has won over the call's. */
  readonly sampling: Sampling;
  /** Choices wanted, at least 1 and at most what the model declares. */
  readonly choiceCount: number;
  /** Answer TokenRecords; asked only of models that declare token ids. */
  readonly wantTokenIds: boolean;
  /** With log-probs; asked only of models that declare them. */
  readonly wantLogprobs: boolean;
  /** The server's id of this call. */
  readonly callId: string;
  /** The episode, where it is known. */
  readonly context: EpisodeContext | undefined;
  /** The agent, where it is known; else empty. */
  readonly agentId: string;
  /** The task, where a gateway knows it. */
  readonly taskId: TaskId | undefined;
  /** How many calls the gateway had before this one; 0 without a gateway. */
  readonly callIndex: number;
  /** Aborts when the caller has left (MDL-GEN-012). */
  readonly signal: AbortSignal;
  /** Shows a piece of a choice to a streaming caller; does nothing for others. */
  readonly onDelta: (choiceIndex: number, delta: Piece) => void;
}

/** A piece of an item that is being made. */
export interface Piece {
  readonly itemId: string;
  readonly kind: "text" | "reasoning" | "argumentsJson";
  readonly text: string;
}

/** What a model answered. Pieces that were shown add up to it (MDL-GEN-009). */
export interface Generated {
  readonly choices: readonly (Choice | MessageInitShape<typeof ChoiceSchema>)[];
  readonly usage: Usage | MessageInitShape<typeof UsageSchema>;
  /** Version of the weights at the call's end; absent: the declared one. */
  readonly weightsVersion?: string;
}

/** A policy model. The runtime keeps gateways, captures, limits and refusals around it. */
export interface ModelDefinition {
  /** Name and version of the implementation. */
  readonly name: string;
  readonly version: string;
  /** The model's name. */
  readonly model: string;
  /** Version of the weights; `unknown` where the upstream does not tell. */
  readonly weightsVersion: string;
  /** Tokens of a prompt and its answer. */
  readonly contextTokens: number;
  /** Tokens of an answer; absent: no bound beside the context. */
  readonly maxOutputTokens?: number;
  /** Choices of one call; absent: 1. */
  readonly maxChoices?: number;
  /** What TokenRecords it can answer: none, ids, or ids with log-probs. */
  readonly tokens?: "ids" | "logprobs";
  /** Continues a conversation. Throw Refusal before anything was done, OperationFailure after. */
  generate(call: ModelCall): Promise<Generated>;
  /** Tokens that a prompt has, tools included (MDL-GEN-008). */
  countTokens(prompt: Prompt, signal: AbortSignal): Promise<number>;
  /** Releases what the model holds. */
  close?(): Promise<void>;
}

/** Defines a model. */
export function defineModel(definition: ModelDefinition): ModelDefinition {
  return definition;
}
