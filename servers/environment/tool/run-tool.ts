import { create } from "@bufbuild/protobuf";
import { distance } from "fastest-levenshtein";
import {
  type Block,
  FailureKind,
  type ToolCall,
  type ToolResult,
  ToolResultSchema,
} from "../../../gen/index.js";
import { foundText } from "../../runtime/found-text.js";
import { textBlock, toolResult } from "../../runtime/items.js";
import { toolAnswerShape } from "../answer-shapes.js";
import { type AnswerOf, checkAuthorAnswer } from "../author-answer.js";
import { authorFault } from "../author-fault.js";
import { type ToolAnswer, type ToolContext, ToolError } from "../definition/tool.js";
import type { ArgumentProblem, PreparedTool } from "./prepared-tool.js";

const kind = FailureKind.STEP_FAILED;

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
    return answered(call, await tool.run(read.args, context));
  } catch (error) {
    if (error instanceof ToolError) return { result: toolResult(callId, error.message, true) };
    throw error;
  }
}

/** What is wrong with an argument, as agents read it. */
export function problemText({ path, message }: ArgumentProblem): string {
  return `${path || "arguments"}: ${message}`;
}

/** Fields of a ToolAnswer that plain data hardly has, and what they hold there. */
const effectTypes: Readonly<Record<string, "number" | "boolean" | "object">> = {
  reward: "number",
  terminated: "boolean",
  truncated: "boolean",
  episodeTerminated: "boolean",
  episodeTruncated: "boolean",
  outcomes: "object",
};

/** The same, or with one letter wrong. The length tells most apart at once. */
function isNear(key: string, name: string): boolean {
  return Math.abs(key.length - name.length) <= 1 && distance(key, name) <= 1;
}

/**
 * The field by which an object without `content` looks like a ToolAnswer that lacks it, or misspells it: what was meant to
 * be earned or to end the episode would be read by the agent instead, without a word.
 */
function looksMeant(given: object): string | undefined {
  for (const [key, value] of Object.entries(given)) {
    // With a letter too many or too few: `context` is a word of its own.
    if (key.length !== "content".length && isNear(key, "content")) return key;
    for (const effect in effectTypes) {
      if (typeof value === effectTypes[effect] && isNear(key, effect)) return key;
    }
  }
  return undefined;
}

function answered({ callId, name }: ToolCall, given: string | object): ToolOutcome {
  if (typeof given === "string") return { result: toolResult(callId, given) };
  const answerOf = { by: `tool "${name}"`, kind };
  // Untyped authors may return nothing.
  if (typeof given !== "object" || given === null)
    throw authorFault(kind, `${answerOf.by} gave ${foundText(given)}; expected text or an object`);
  if (!("content" in given)) {
    const meant = looksMeant(given);
    if (meant === undefined) return { result: structured(callId, given) };
    throw authorFault(
      kind,
      `${answerOf.by}: "${meant}" without "content": expected { content: what the agent reads, reward: ... }; where "${meant}" is data for the agent, put it into content`,
    );
  }
  checkAuthorAnswer(given, toolAnswerShape, answerOf);
  const { content, ...effects } = given as ToolAnswer;
  return { result: contentResult(answerOf, callId, content), ...effects };
}

function contentResult(answerOf: AnswerOf, callId: string, content: ToolAnswer["content"]): ToolResult {
  if (typeof content === "string") return toolResult(callId, content);
  if (!Array.isArray(content)) return structured(callId, content);
  if (content.some((block) => typeof block !== "object" || block === null || !("kind" in block)))
    throw authorFault(
      kind,
      `${answerOf.by}: content: expected a list of blocks, found one of other things; put a list of data into an object`,
    );
  return create(ToolResultSchema, { callId, content: content as Block[] });
}

function structured(callId: string, value: object): ToolResult {
  const json = JSON.stringify(value);
  return create(ToolResultSchema, { callId, content: [textBlock(json)], structuredJson: json });
}
