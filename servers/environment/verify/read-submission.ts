import { create } from "@bufbuild/protobuf";
import {
  type AgentSubmission,
  type Block,
  type Item,
  Role,
  type Submission,
  SubmissionSchema,
} from "../../../gen/index.js";
import { resolveRefs } from "../../runtime/blobs/resolve-refs.js";
import { invalidField, Refusal } from "../../runtime/refusal.js";
import type { EnvironmentContext } from "../environment-context.js";

/** Kinds of blocks that a verifier reads where its definition says nothing. */
const defaultAnswerBlocks = ["text", "json"];

/**
 * A submission with all that it refers to. Refuses one that holds what cannot be read, by its path: an item that were
 * skipped would turn right work into a 0 (ENV-VRFY-015, field-case-33).
 */
export function readSubmission<Data, State>(
  context: EnvironmentContext<Data, State>,
  given: Submission | undefined,
): Submission {
  checkSubmission(context, given);
  return resolveSubmission(context, given);
}

/** What can be refused without reading what it refers to. */
export function checkSubmission<Data, State>(
  { prepared, definition }: EnvironmentContext<Data, State>,
  given: Submission | undefined,
): void {
  const { agentIds } = prepared;
  const { answerBlocks = defaultAnswerBlocks } = definition;
  const seen = new Set<string>();
  for (const [i, agent] of given?.agents.entries() ?? []) {
    const path = `submission.agents[${i}]`;
    const { agentId } = agent;
    if (!agentIds.includes(agentId)) {
      const known = agentIds.map((known) => `"${known}"`).join(", ");
      throw invalidField(`${path}.agent_id`, `there is no agent "${agentId}"; there is ${known}`);
    }
    if (seen.has(agentId)) throw invalidField(`${path}.agent_id`, `a second entry of agent "${agentId}"`);
    seen.add(agentId);
    checkItems(agent, path, answerBlocks);
  }
}

/** A submission that was checked, with all that it refers to, which may be much. */
export function resolveSubmission<Data, State>(
  { runtime, definition, blobs }: EnvironmentContext<Data, State>,
  given: Submission | undefined,
): Submission {
  const { answerBlocks = defaultAnswerBlocks } = definition;
  const submission = resolveRefs(
    blobs,
    { schema: SubmissionSchema, within: "submission", maxBytes: runtime.limits.maxBlobBytes },
    given ?? create(SubmissionSchema),
  );
  for (const [i, agent] of given?.agents.entries() ?? []) {
    const read = submission.agents[i];
    if (agent.itemsRef !== undefined && read !== undefined)
      checkItems(read, `submission.agents[${i}]`, answerBlocks);
  }
  return submission;
}

function checkItems({ items }: AgentSubmission, path: string, answerBlocks: readonly string[]): void {
  for (const [i, item] of items.entries()) checkItem(item, `${path}.items[${i}]`, answerBlocks);
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
  // ALL-BLOB-006: a reference does what the bytes would.
  const read = kind.case === "blobRef" ? "blob" : kind.case;
  if (read !== undefined && answerBlocks.includes(read)) return;
  throw invalidField(
    path,
    `a block of kind ${kind.case ?? "unknown"} in an answer; read here: ${answerBlocks.join(", ")}`,
  );
}
