import { create } from "@bufbuild/protobuf";
import {
  type Block,
  FailureKind,
  type ToolCall,
  type ToolResult,
  ToolResultSchema,
} from "../../../gen/index.js";
import { textBlock, toolResult } from "../../runtime/items.js";
import { authorFault } from "../author-fault.js";
import { type ToolAnswer, type ToolContext, ToolError } from "../definition/tool.js";
import type { ArgumentProblem, PreparedTool } from "./prepared-tool.js";

/** A tool call that may be run. */
export interface ReadCall {
  readonly call: ToolCall;
  /** Its arguments, known to be a JSON object. */
  readonly args: object;
}

/** How a tool call ended. */
export interface ToolOutcome extends Omit<ToolAnswer, "content"> {
  readonly result: ToolResult;
}

/** Runs a tool call. Only what is wrong with the arguments, and a ToolError, are the agent's to read (ENV-STEP-013, -023). */
export async function runTool<State>(
  tool: PreparedTool<State>,
  { call, args }: ReadCall,
  context: ToolContext<State>,
): Promise<ToolOutcome> {
  const { callId } = call;
  const read = tool.read(args);
  if ("problems" in read) {
    const problems = read.problems.map(problemText).join("; ");
    return { result: toolResult(callId, `The arguments do not fit the tool: ${problems}`, true) };
  }
  try {
    return answered(callId, await tool.run(read.args, context));
  } catch (error) {
    if (error instanceof ToolError) return { result: toolResult(callId, error.message, true) };
    throw error;
  }
}

/** What is wrong with an argument, as agents read it. */
export function problemText({ path, message }: ArgumentProblem): string {
  return `${path || "arguments"}: ${message}`;
}

function isToolAnswer(given: object): given is ToolAnswer {
  return "content" in given;
}

function answered(callId: string, given: string | object): ToolOutcome {
  if (typeof given === "string") return { result: toolResult(callId, given) };
  // Untyped authors may return nothing.
  if (typeof given !== "object" || given === null) {
    throw authorFault(FailureKind.STEP_FAILED, "a tool gave neither text nor an object");
  }
  if (!isToolAnswer(given)) return { result: structured(callId, given) };
  const { content, ...effects } = given;
  const result =
    typeof content === "string"
      ? toolResult(callId, content)
      : Array.isArray(content)
        ? create(ToolResultSchema, { callId, content: content as Block[] })
        : structured(callId, content);
  return { result, ...effects };
}

function structured(callId: string, value: object): ToolResult {
  const json = JSON.stringify(value);
  return create(ToolResultSchema, { callId, content: [textBlock(json)], structuredJson: json });
}
