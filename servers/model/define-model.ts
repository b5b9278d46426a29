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
import { checkKeys, type KeysOf } from "../runtime/check-keys.js";

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
  /** Aborts when the caller has left (MDL-GEN-012), or its gateway was closed. */
  readonly signal: AbortSignal;
  /** Milliseconds until the caller's own deadline; undefined: it has none. No wait should be longer. */
  readonly timeLeftMs: () => number | undefined;
  /** Somebody reads the pieces: worth asking an upstream for a stream. */
  readonly streaming: boolean;
  /**
   * Shows a piece of a choice to a streaming caller; does nothing for others. A model that shows none, or not all, is
   * right as well: the runtime shows what is missing.
   */
  readonly onDelta: (choiceIndex: number, delta: Piece) => void;
}

/** A piece of an item that is being made: text of a chat message, of a reasoning's content, or arguments. */
export interface Piece {
  /** Id of the item, the one that it has in the answer. */
  readonly itemId: string;
  readonly kind: "text" | "reasoning" | "argumentsJson";
  readonly text: string;
}

/**
 * What a model answered. Pieces that were shown add up to it (MDL-GEN-009). Indexes, item ids that are missing and what
 * every TokenRecord says of its call (ids, parent, finish) are the runtime's to fill in. A TokenRecord holds the prompt's
 * ids whole; the runtime leaves out what the parent has.
 */
export interface Generated {
  readonly choices: readonly (Choice | MessageInitShape<typeof ChoiceSchema>)[];
  readonly usage: Usage | MessageInitShape<typeof UsageSchema>;
  /** Version of the weights at the call's end; absent: the declared one. */
  readonly weightsVersion?: string;
}

/** Blocks that not every model reads. Blobs elsewhere (blob_ref) are read by none: this server has no BlobService. */
export type RichBlock = "blob" | "uri" | "tensor";

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
  /** Kinds of blocks that it reads beside text and JSON; others are refused by name. Absent: none. */
  readonly reads?: readonly RichBlock[];
  /** Continues a conversation. Throw Refusal before anything was done, OperationFailure after. */
  generate(call: ModelCall): Promise<Generated>;
  /** Tokens that a prompt has, tools included (MDL-GEN-008). */
  countTokens(prompt: Prompt, signal: AbortSignal): Promise<number>;
  /** Releases what the model holds. */
  close?(): Promise<void>;
}

const modelKeys: KeysOf<ModelDefinition> = {
  name: "required",
  version: "required",
  model: "required",
  weightsVersion: "required",
  contextTokens: "required",
  maxOutputTokens: "optional",
  maxChoices: "optional",
  tokens: "optional",
  reads: "optional",
  generate: "required",
  countTokens: "required",
  close: "optional",
};

/**
 * Defines a model. Throws an Error that names a key that is none, or that is missing.
 *
 * @example
 * defineModel({
 *   name: "shout", version: "1.0.0", model: "shout-1", weightsVersion: "1", contextTokens: 4096,
 *   async generate({ prompt }) {
 *     const text = textOf(...).toUpperCase();
 *     return { choices: [{ items: [assistantMessage(text)], finishReason: FinishReason.STOP }], usage: { ... } };
 *   },
 *   async countTokens(prompt) { ... },
 * })
 */
export function defineModel(definition: ModelDefinition): ModelDefinition {
  checkKeys("defineModel", definition, modelKeys);
  return definition;
}
