import { type Block, type Item, type Prompt, Role, type Tool, ToolChoice } from "../../gen/index.js";
import { invalidField } from "../runtime/refusal.js";
import { checkPrefix } from "./check-prefix.js";
import type { ModelDefinition } from "./define-model.js";

/** Refuses a prompt that cannot be continued, its fault named by its path (MDL-GEN-010, MDL-TOOL-002). */
export function checkPrompt(definition: ModelDefinition, prompt: Prompt, at: string): void {
  checkItems(definition, prompt.items, at);
  checkTools(prompt, at);
  if (prompt.responseSchemaJson !== "")
    checkJsonObject(prompt.responseSchemaJson, `${at}.response_schema_json`);
  checkPrefix(definition, prompt, at);
}

function checkItems(definition: ModelDefinition, items: readonly Item[], at: string): void {
  const calls = new Set<string>();
  items.forEach(({ kind }, i) => {
    const path = `${at}.items[${i}]`;
    switch (kind.case) {
      case "chatMessage":
        if (kind.value.role === Role.UNSPECIFIED) {
          throw invalidField(
            `${path}.chat_message.role`,
            "is required: system, developer, user or assistant",
          );
        }
        checkBlocks(definition, kind.value.content, `${path}.chat_message.content`);
        break;
      case "reasoning":
        checkBlocks(definition, kind.value.content, `${path}.reasoning.content`);
        checkBlocks(definition, kind.value.summary, `${path}.reasoning.summary`);
        break;
      case "toolCall": {
        const { callId } = kind.value;
        if (calls.has(callId)) {
          throw invalidField(
            `${path}.tool_call.call_id`,
            `"${callId}" is the id of an earlier tool call; ids are unique`,
          );
        }
        calls.add(callId);
        break;
      }
      case "toolResult": {
        const { callId } = kind.value;
        // MDL-TOOL-002
        if (!calls.has(callId)) {
          throw invalidField(
            `${path}.tool_result.call_id`,
            `no earlier item is a tool call with id "${callId}"`,
          );
        }
        checkBlocks(definition, kind.value.content, `${path}.tool_result.content`);
        break;
      }
      case "opaque":
      case undefined:
        break;
    }
  });
}

function checkBlocks(definition: ModelDefinition, blocks: readonly Block[], at: string): void {
  blocks.forEach(({ kind }, i) => {
    switch (kind.case) {
      case "blobRef":
        // ALL-BLOB-007
        throw invalidField(
          `${at}[${i}].blob_ref`,
          "this server reads no blobs by digest; send the bytes in place",
        );
      case "blob":
      case "uri":
      case "tensor":
        if (definition.reads?.includes(kind.case) !== true) {
          throw invalidField(
            `${at}[${i}].${kind.case}`,
            `model "${definition.model}" reads ${["text", "json", ...(definition.reads ?? [])].join(", ")} only`,
          );
        }
        break;
      case "text":
      case "json":
      case undefined:
        break;
    }
  });
}

function checkTools({ tools, toolChoice, toolName }: Prompt, at: string): void {
  const names = new Set<string>();
  tools.forEach((tool: Tool, i) => {
    const path = `${at}.tools[${i}]`;
    if (names.has(tool.name))
      throw invalidField(`${path}.name`, `there is another tool "${tool.name}"; names are unique`);
    names.add(tool.name);
    if (tool.inputSchemaJson !== "") checkJsonObject(tool.inputSchemaJson, `${path}.input_schema_json`);
  });
  if (toolChoice === ToolChoice.REQUIRED && names.size === 0) {
    throw invalidField(`${at}.tool_choice`, "some tool is required, and the prompt has none");
  }
  if (toolChoice === ToolChoice.NAMED && !names.has(toolName)) {
    const known = [...names].join(", ") || "none";
    throw invalidField(`${at}.tool_name`, `there is no tool "${toolName}"; tools: ${known}`);
  }
}

function checkJsonObject(text: string, at: string): void {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalidField(at, "expected the text of a JSON object, found text that is no JSON");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw invalidField(at, "expected the text of a JSON object, found another JSON value");
  }
}
