import { create } from "@bufbuild/protobuf";
import { z } from "zod";
import {
  type Block,
  type Tool,
  type ToolCall,
  type ToolResult,
  ToolResultSchema,
  ToolSchema,
} from "../../gen/index.js";
import { textBlock, toolResult } from "../runtime/items.js";

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

/** What a tool gives back: text, or more. */
export interface ToolAnswer {
  /** What the agent reads; an object is given as JSON text, structured beside. */
  readonly content: string | object | readonly Block[];
  /** What the call earned, where the environment rewards steps. */
  readonly reward?: number;
  /** The call ended the episode by the world's own rules. */
  readonly terminated?: boolean;
}

/** A tool of an environment. */
export interface ToolDefinition<State> {
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly inputSchema: object;
  /** Reads arguments; answers what is wrong with them, each problem with its path. */
  readonly parse: (args: unknown) => { readonly args: unknown } | { readonly problems: readonly string[] };
  readonly run: (args: never, context: ToolContext<State>) => string | object | Promise<string | object>;
}

/**
 * Defines a tool. Arguments are described by a Zod schema, or by a JSON Schema object.
 *
 * @example tool({ description: "Adds.", input: z.object({ a: z.number(), b: z.number() }), run: ({ a, b }) => `${a + b}` })
 */
export function tool<Schema extends z.ZodType, State = unknown>(definition: {
  readonly description: string;
  readonly input: Schema;
  readonly run: (
    args: z.output<Schema>,
    context: ToolContext<State>,
  ) => string | object | Promise<string | object>;
}): ToolDefinition<State>;
export function tool<State = unknown>(definition: {
  readonly description: string;
  readonly input: { readonly type: "object"; readonly [key: string]: unknown };
  readonly run: (
    args: Record<string, unknown>,
    context: ToolContext<State>,
  ) => string | object | Promise<string | object>;
}): ToolDefinition<State>;
export function tool<State>(definition: {
  readonly description: string;
  readonly input: z.ZodType | object;
  readonly run: (args: never, context: ToolContext<State>) => string | object | Promise<string | object>;
}): ToolDefinition<State> {
  const { input } = definition;
  const schema =
    input instanceof z.ZodType ? input : z.fromJSONSchema(input as Parameters<typeof z.fromJSONSchema>[0]);
  return {
    description: definition.description,
    inputSchema: input instanceof z.ZodType ? z.toJSONSchema(input) : input,
    parse(args) {
      const parsed = schema.safeParse(args);
      if (parsed.success) return { args: parsed.data };
      return {
        problems: parsed.error.issues.map(
          (issue) => `${issue.path.join(".") || "arguments"}: ${issue.message}`,
        ),
      };
    },
    run: definition.run,
  };
}

/** The tool as agents are told of it. */
export function describeTool(name: string, definition: ToolDefinition<never>): Tool {
  return create(ToolSchema, {
    name,
    description: definition.description,
    inputSchemaJson: JSON.stringify(definition.inputSchema),
  });
}

/** How a tool call ended. */
export interface ToolOutcome {
  readonly result: ToolResult;
  readonly reward?: number | undefined;
  readonly terminated?: boolean | undefined;
}

/** Runs a tool call whose arguments are known to be a JSON object. Only a ToolError is the agent's to read. */
export async function runTool<State>(
  definition: ToolDefinition<State>,
  call: ToolCall,
  context: ToolContext<State>,
): Promise<ToolOutcome> {
  const parsed = definition.parse(JSON.parse(call.argumentsJson));
  if ("problems" in parsed) {
    return {
      result: toolResult(
        call.callId,
        `The arguments do not fit the tool: ${parsed.problems.join("; ")}`,
        true,
      ),
    };
  }
  try {
    const given = await definition.run(parsed.args as never, context);
    return answered(call.callId, given);
  } catch (error) {
    if (error instanceof ToolError) return { result: toolResult(call.callId, error.message, true) };
    throw error;
  }
}

function isToolAnswer(given: object): given is ToolAnswer {
  return "content" in given;
}

function answered(callId: string, given: string | object): ToolOutcome {
  if (typeof given === "string") return { result: toolResult(callId, given) };
  if (!isToolAnswer(given)) return { result: structured(callId, given) };
  const { content, reward, terminated } = given;
  const result =
    typeof content === "string"
      ? toolResult(callId, content)
      : Array.isArray(content)
        ? create(ToolResultSchema, { callId, content: content as Block[] })
        : structured(callId, content);
  return { result, reward, terminated };
}

function structured(callId: string, value: object): ToolResult {
  const json = JSON.stringify(value);
  return create(ToolResultSchema, { callId, content: [textBlock(json)], structuredJson: json });
}
