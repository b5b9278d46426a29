import type { MessageInitShape } from "@bufbuild/protobuf";
import type { z } from "zod";
import type {
  ArtifactSchema,
  BudgetSchema,
  Choice,
  EpisodeContext,
  Item,
  Reference,
  StopReason,
  Tool,
  ToolCall,
  ToolChoice,
} from "../../gen/index.js";
import { checkKeys, type KeysOf } from "../runtime/check-keys.js";

/** What a model is asked by a harness. */
export interface ModelAsk {
  /** The conversation, from the instructions on. */
  readonly items: readonly Item[];
  /** Tools that the model may call; absent: the session's. */
  readonly tools?: readonly Tool[];
  /** Whether it must. Absent: as it likes. */
  readonly toolChoice?: ToolChoice;
}

/** How a tool call ended for the harness. */
export interface ToolCalled {
  /** What the model is to read: the call's result first, then what else the environment said. Recorded already. */
  readonly items: readonly Item[];
  /** The world said that the episode is over. */
  readonly ended: boolean;
}

/** One turn of an agent: what it has, what it may do, and what the runtime counts for it. */
export interface Turn<Options> {
  readonly agentId: string;
  readonly context: EpisodeContext;
  readonly options: Options;
  /** The conversation before this turn, instructions first. */
  readonly history: readonly Item[];
  /** What is said to the agent now. */
  readonly input: readonly Item[];
  /** Its tools now. */
  readonly tools: readonly Tool[];
  /** The task's solution, for an agent that declares REFERENCE. */
  readonly reference: Reference | undefined;
  /** Aborts when the turn must end: wall time, Interrupt, Close, timeout. What is done afterwards is not heard. */
  readonly signal: AbortSignal;
  /**
   * Records something said or done; it becomes part of the output and of the conversation. What a model or a tool
   * answered is recorded by `generate` and `callTool` themselves.
   */
  say(item: Item): void;
  /**
   * Asks the model once and records what it said. Answers `stop` where the turn must end: its budget is spent, it was
   * ended early, or the answer itself ends it (cut, out of context, refused).
   */
  generate(ask: ModelAsk): Promise<{ readonly choice: Choice } | { readonly stop: StopReason }>;
  /** Calls a tool once and records its result. Answers `stop` where the turn must end. */
  callTool(call: ToolCall): Promise<{ readonly called: ToolCalled } | { readonly stop: StopReason }>;
}

/** How a turn ended. Running out of budget is no failure: throw only what broke. */
export interface TurnEnd {
  readonly stopReason: StopReason;
  /** What the agent hands in beside what it said. */
  readonly artifacts?: readonly MessageInitShape<typeof ArtifactSchema>[];
}

/** A harness: how an agent works. Sessions, budgets, records, models and tools are the runtime's. */
export interface AgentDefinition<Options> {
  readonly name: string;
  readonly version: string;
  /** Its sessions need a model. */
  readonly needsModel: boolean;
  /** Takes the task's solution: an oracle, for checking environments (feature REFERENCE). */
  readonly takesReference?: boolean;
  /** Schema of its options. */
  readonly options: z.ZodType<Options>;
  /** The most that a turn may use under these options, whatever is asked for. Absent: no such bound. */
  maxBudget?(options: Options): MessageInitShape<typeof BudgetSchema>;
  /**
   * Takes one turn. It runs in the agent server's own process and ends when `turn.signal` aborts: one that goes on all
   * the same is not heard any more, and Close tells that it could not be stopped.
   */
  activate(turn: Turn<Options>): Promise<TurnEnd>;
}

const agentKeys: KeysOf<AgentDefinition<never>> = {
  name: "required",
  version: "required",
  needsModel: "required",
  takesReference: "optional",
  options: "required",
  maxBudget: "optional",
  activate: "required",
};

/**
 * Defines an agent. Throws an Error that names a key that is none, or that is missing.
 *
 * @example
 * export default defineAgent({
 *   name: "one-question", version: "1.0.0", needsModel: true, options: z.strictObject({}),
 *   async activate(turn) {
 *     const answered = await turn.generate({ items: [...turn.history, ...turn.input] });
 *     return { stopReason: "stop" in answered ? answered.stop : StopReason.DONE };
 *   },
 * });
 */
export function defineAgent<Options>(definition: AgentDefinition<Options>): AgentDefinition<Options> {
  checkKeys("defineAgent", definition, agentKeys);
  return definition;
}
