import { create } from "@bufbuild/protobuf";
import {
  type AgentSubmission,
  AgentSubmissionSchema,
  type Block,
  type Item,
  Role,
  type Submission,
} from "../../gen/index.js";
import { invalidField, Refusal } from "../runtime/refusal.js";
import { soleAgent } from "./environment-session.js";

/** Kinds of blocks that a verifier reads where its definition says nothing. */
const defaultAnswerBlocks = ["text", "json"];

/**
 * Refuses a submission that holds what cannot be read, by its path: an item that were skipped would turn right work
 * into a 0 (ENV-VRFY-015, field-case-33). `answerBlocks` are the kinds of blocks that the verifier reads in an answer.
 */
export function checkSubmission(submission: Submission | undefined, answerBlocks?: readonly string[]): void {
  for (const [i, agent] of submission?.agents.entries() ?? []) {
    const path = `submission.agents[${i}]`;
    if (agent.agentId !== soleAgent) {
      throw invalidField(`${path}.agent_id`, `there is no agent "${agent.agentId}"; there is "${soleAgent}"`);
    }
    if (i > 0) throw invalidField(`${path}.agent_id`, `a second entry of agent "${soleAgent}"`);
    if (agent.itemsRef !== undefined)
      throw invalidField(`${path}.items_ref`, "cannot be read: BLOBS is not declared");
    for (const [j, item] of agent.items.entries())
      checkItem(item, `${path}.items[${j}]`, answerBlocks ?? defaultAnswerBlocks);
    for (const [j, artifact] of agent.artifacts.entries()) {
      if (artifact.body.case === "ref") {
        throw invalidField(`${path}.artifacts[${j}].ref`, "cannot be read: BLOBS is not declared");
      }
    }
  }
  if (submission !== undefined && submission.steps.length > 0) {
    throw invalidField("submission.steps", "expected none: the session knows its own steps");
  }
}

/** Refuses an item that cannot be read: without a kind that is known here, or said by nobody that is known. */
export function checkReadable(item: Item, path: string): void {
  const { kind } = item;
  if (kind.case === undefined) throw invalidField(path, "an item without a kind that is known here");
  if (kind.case !== "chatMessage") return;
  const { role } = kind.value;
  if (role === Role.UNSPECIFIED)
    throw invalidField(`${path}.chat_message.role`, "expected a role, found none");
  if (Role[role] === undefined) {
    const field = `${path}.chat_message.role`;
    const description = `the role ${role} is not known here`;
    throw new Refusal("UNKNOWN_ENUM", `${field}: ${description}`, { violations: [{ field, description }] });
  }
}

function checkItem(item: Item, path: string, answerBlocks: readonly string[]): void {
  checkReadable(item, path);
  if (item.kind.case !== "chatMessage" || item.kind.value.role !== Role.ASSISTANT) return;
  for (const [k, block] of item.kind.value.content.entries()) {
    checkBlock(block, `${path}.chat_message.content[${k}]`, answerBlocks);
  }
}

function checkBlock({ kind }: Block, path: string, answerBlocks: readonly string[]): void {
  if (kind.case !== undefined && answerBlocks.includes(kind.case)) return;
  throw invalidField(
    path,
    `a block of kind ${kind.case ?? "unknown"} in an answer; read here: ${answerBlocks.join(", ")}`,
  );
}

/** What the agent handed in; nothing at all is the empty submission. */
export function ofAgent(submission: Submission | undefined): AgentSubmission {
  return submission?.agents[0] ?? create(AgentSubmissionSchema, { agentId: soleAgent });
}
