import { z } from "zod";
import type { Block } from "../../../gen/index.js";
import type { StepEffects } from "./stepping.js";

/** A tool that ran and failed: the agent reads the message and goes on; it is no failure of the session (ENV-STEP-013). */
export class ToolError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "ToolError";
  }
}

/** What a tool works with. */
export interface ToolContext<State> {
  /** The session's state, to read and to change. */
  readonly state: State;
  /** Who calls. */
  readonly agentId: string;
  /** Aborts when nobody will use the result. */
  readonly signal: AbortSignal;
}

/** What a tool gives back where text or an object is not enough. */
export interface ToolAnswer extends StepEffects {
  /** What the agent reads; an object is given as JSON text, structured beside. */
  readonly content: string | object | readonly Block[];
  /** What the call earned, where the environment rewards steps. */
  readonly reward?: number;
  /** The call ended the caller's part by the world's own rules; with one agent: the episode. */
  readonly terminated?: boolean;
  /** The call ended the caller's part by a limit; with one agent: the episode. */
  readonly truncated?: boolean;
  /** Notes for the controller, never for agents. */
  readonly info?: object;
}

/** How a tool's arguments are described: by a Zod schema, or by a JSON Schema object. */
export type ToolInput = z.ZodType | { readonly type: "object"; readonly [key: string]: unknown };

/** Arguments as a tool gets them: read by Zod, or as JSON where a JSON Schema describes them. */
export type ToolArguments<Input> = Input extends z.ZodType ? z.output<Input> : Record<string, unknown>;

/** A tool of an environment. */
export interface ToolDefinition<Input extends ToolInput, State> {
  readonly description: string;
  readonly input: Input;
  /** Agents that have it, where there are several. Absent: all. */
  readonly agents?: readonly string[];
  /**
   * Runs a call. Answers text, an object (given as JSON), or a ToolAnswer. Throw ToolError for what the agent should read.
   * It runs in the server's own process: what waits must `await`, and what computes for long belongs into a process or a
   * worker thread of its own. One that never returns stops every session here, and no timeout can end it; `touchstone run`
   * and `serve` then say on standard error where it is.
   */
  run(args: ToolArguments<Input>, context: ToolContext<State>): string | object | Promise<string | object>;
}

/**
 * A tool defined apart from its environment, so that its arguments are typed by its schema; within `tools` of
 * defineEnvironment they are without it. Its state is typed where `toolsOf` makes it.
 *
 * @example tool({ description: "Adds.", input: z.object({ a: z.number(), b: z.number() }), run: ({ a, b }) => `${a + b}` })
 */
export function tool<Input extends ToolInput, State = unknown>(
  definition: ToolDefinition<Input, State>,
): ToolDefinition<Input, State> {
  return definition;
}

/**
 * `tool` for tools of one state, which TypeScript cannot infer beside the arguments: both are typed, and a tool that wants
 * another state than its environment has is an error there.
 *
 * @example
 * interface Shelf { readonly books: string[] }
 * const tool = toolsOf<Shelf>();
 * export const tools = {
 *   add: tool({
 *     description: "Puts a book on the shelf.",
 *     input: z.object({ title: z.string() }),
 *     run({ title }, { state }) {
 *       state.books.push(title);
 *       return "Done.";
 *     },
 *   }),
 * };
 */
export function toolsOf<State>(): <Input extends ToolInput>(
  definition: ToolDefinition<Input, State>,
) => ToolDefinition<Input, State> {
  return tool;
}

/** The schema of a tool's arguments, for validation. */
export function zodOf(input: ToolInput): z.ZodType {
  return input instanceof z.ZodType
    ? input
    : z.fromJSONSchema(input as Parameters<typeof z.fromJSONSchema>[0]);
}

/** The schema of a tool's arguments, as agents read it: of what goes in, so that what has a default may be left out. */
export function jsonSchemaOf(input: ToolInput): object {
  return input instanceof z.ZodType ? z.toJSONSchema(input, { io: "input" }) : input;
}
