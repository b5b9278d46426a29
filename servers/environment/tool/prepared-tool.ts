import { create } from "@bufbuild/protobuf";
import type { z } from "zod";
import { type Tool, ToolSchema } from "../../../gen/index.js";
import {
  jsonSchemaOf,
  type ToolArguments,
  type ToolDefinition,
  type ToolInput,
  zodOf,
} from "../definition/tool.js";

/** What is wrong with one argument. */
export interface ArgumentProblem {
  /** Where it stands in the arguments: `path`, `edits[0].text`; empty for all of them. */
  readonly path: string;
  readonly message: string;
}

/** Arguments as a tool's schema reads them, or what is wrong with them. */
export type ReadArguments =
  | { readonly args: ToolArguments<ToolInput> }
  | { readonly problems: readonly ArgumentProblem[] };

/** A tool as sessions use it: its schema is made once for all of them. */
export interface PreparedTool<State> {
  /** As agents are told of it. */
  readonly described: Tool;
  /** Agents that have it; undefined: all. */
  readonly agents: readonly string[] | undefined;
  read(args: object): ReadArguments;
  readonly run: ToolDefinition<ToolInput, State>["run"];
}

/** Prepares a tool for all its calls. */
export function prepareTool<State>(
  name: string,
  definition: ToolDefinition<ToolInput, State>,
): PreparedTool<State> {
  const schema = zodOf(definition.input);
  return {
    described: create(ToolSchema, {
      name,
      description: definition.description,
      inputSchemaJson: JSON.stringify(jsonSchemaOf(definition.input)),
    }),
    agents: definition.agents,
    read(args) {
      const parsed = schema.safeParse(args);
      if (parsed.success) return { args: parsed.data as ToolArguments<ToolInput> };
      return { problems: parsed.error.issues.flatMap(problemsOf) };
    },
    run: (args, context) => definition.run(args, context),
  };
}

function problemsOf(issue: z.core.$ZodIssue): ArgumentProblem[] {
  // Each surplus argument is named by itself.
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => ({
      path: pathText([...issue.path, key]),
      message: `Unrecognized key: ${JSON.stringify(key)}`,
    }));
  }
  return [{ path: pathText(issue.path), message: issue.message }];
}

function pathText(path: readonly PropertyKey[]): string {
  return path
    .map((part, i) => (typeof part === "number" ? `[${part}]` : `${i === 0 ? "" : "."}${String(part)}`))
    .join("");
}
