import { type Prompt, type Tool, ToolChoice } from "../../../../gen/index.js";
import { asObject, type DialectName, type Json, parse, readExtra } from "./extra.js";

/** A function that the model may call, as both APIs describe it. */
export function functionOf({ name, description, inputSchemaJson, strict }: Tool): Json {
  return {
    name,
    ...(description === "" ? {} : { description }),
    parameters: inputSchemaJson === "" ? { type: "object", properties: {} } : parse(inputSchemaJson),
    ...(strict ? { strict } : {}),
  };
}

/** How an API writes tools. */
export interface ToolWriting {
  readonly dialect: DialectName;
  /** A function, where the API has it. */
  describe(tool: Tool): Json;
  /** The name of the function that must be called. */
  named(name: string): Json;
}

/** Tools and whether they must be called. */
export function toolFields(prompt: Prompt, { dialect, describe, named }: ToolWriting): Json {
  const { tools, toolChoice, toolName, parallelToolCalls } = prompt;
  if (tools.length === 0) return {};
  return {
    tools: tools.map((tool) => ({
      type: "function",
      ...describe(tool),
      ...readExtra(dialect, tool.extraJson),
    })),
    ...choiceFields(toolChoice, named(toolName)),
    ...(parallelToolCalls === undefined ? {} : { parallel_tool_calls: parallelToolCalls }),
  };
}

function choiceFields(choice: ToolChoice, named: Json): Json {
  switch (choice) {
    case ToolChoice.UNSPECIFIED:
      return {};
    case ToolChoice.AUTO:
      return { tool_choice: "auto" };
    case ToolChoice.NONE:
      return { tool_choice: "none" };
    case ToolChoice.REQUIRED:
      return { tool_choice: "required" };
    case ToolChoice.NAMED:
      return { tool_choice: { type: "function", ...named } };
  }
}

/** The format that an answer must have, as both APIs describe it; undefined: any. */
export function answerFormat({ responseSchemaJson }: Prompt): Json | undefined {
  const schema = asObject(parse(responseSchemaJson));
  return schema === undefined ? undefined : { name: "answer", schema, strict: true };
}
