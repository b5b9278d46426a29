import { z } from "zod";
import { FailureKind, Retry } from "../../../../gen/index.js";

/** Names of an enum's values, some left out. */
function namesOf<E extends Record<string, string | number>>(
  type: E,
  without: readonly string[],
): [string, ...string[]] {
  const names = Object.keys(type).filter((name) => Number.isNaN(Number(name)) && !without.includes(name));
  const [first, ...rest] = names;
  if (first === undefined) throw new Error("an enum without names");
  return [first, ...rest];
}

const tokenId = z.int().min(0).max(0xffff_ffff);
const count = z.int().min(0);

const toolCallSchema = z.strictObject({
  name: z.string().min(1),
  arguments: z.union([z.string(), z.record(z.string(), z.unknown())]),
  call_id: z.string().min(1).max(256).optional(),
  incomplete: z.boolean().default(false),
});

const failSchema = z.strictObject({
  kind: z.enum(namesOf(FailureKind, ["UNSPECIFIED", "CUSTOM"])),
  retry: z.enum(namesOf(Retry, ["UNSPECIFIED"])).default("NEW_ATTEMPT"),
  reason: z.string().max(2000).default("the script says that this call fails"),
});

const callSchema = z
  .strictObject({
    text: z.string().optional(),
    reasoning: z.string().optional(),
    tool_calls: z.array(toolCallSchema).optional(),
    finish: z
      .enum(["stop", "length", "tool_calls", "context_length", "refusal", "content_filter"])
      .optional(),
    output_token_ids: z.array(tokenId).min(1).optional(),
    logprobs: z.array(z.union([z.number(), z.enum(["NaN", "Infinity", "-Infinity"])])).optional(),
    usage: z
      .strictObject({
        input_tokens: count,
        cached_input_tokens: count,
        output_tokens: count,
        reasoning_tokens: count,
        cost_usd: z.number().min(0),
      })
      .partial()
      .optional(),
    weights_version: z.string().min(1).optional(),
    delay_ms: z.number().min(0).optional(),
    fail: failSchema.optional(),
  })
  .superRefine((call, context) => {
    call.tool_calls?.slice(0, -1).forEach(({ incomplete }, i) => {
      if (incomplete) {
        context.addIssue({
          code: "custom",
          path: ["tool_calls", i, "incomplete"],
          message: "expected false, found true: a limit cuts the last tool call only",
        });
      }
    });
  });

/**
 * The script of a replay model: a file of JSON lines, one conversation a line. Blank lines, a byte order mark and CRLF
 * are accepted; anything else that is no conversation is refused at start with line, field, what was expected and found.
 *
 *     {"task": "q-1", "agent": "agent", "calls": [
 *       {"reasoning": "6 x 7", "tool_calls": [{"name": "calculator", "arguments": {"expression": "6*7"}}]},
 *       {"text": "The answer is 42."}]}
 *     {"task": "*", "agent": "*", "calls": [{"text": "I do not know."}]}
 *
 * A conversation:
 *
 *     task       id of the task that it is for; `*`: any
 *     taskset    the task set that the id is of; absent: any
 *     agent      agent_id that it is for; `*` (default): any
 *     calls      what is answered, by the number of the call in its gateway, from 0
 *
 * Of several that fit, the one that names the task wins (with its task set before without), then the one that names the
 * agent. Two that name the same are refused.
 *
 * A call:
 *
 *     text         a chat message
 *     reasoning    reasoning, said first
 *     tool_calls   said last. `arguments` is a JSON value, written compactly, or text that stands as it is, whatever it
 *                  is. `call_id`: absent, one is made. `incomplete`: a limit cut it; only the last one may be.
 *     finish       stop | length | tool_calls | context_length | refusal | content_filter. Absent: tool_calls where there
 *                  are any, else stop. With length, context_length and content_filter the answer has no stop token;
 *                  with refusal the text is the model's explanation.
 *     output_token_ids   other tokens that spell the same (see the toy tokenizer's vocabulary), as a sampler may have
 *                        chosen them; absent: the canonical ones
 *     logprobs     told as they are, even where they are wrong: numbers, or "NaN", "Infinity", "-Infinity"
 *     usage        told instead of what was counted: input_tokens, cached_input_tokens, output_tokens, reasoning_tokens,
 *                  cost_usd
 *     weights_version   version of the weights that answer; absent: the model's
 *     delay_ms     how long it takes
 *     fail         the call fails: `kind` a FailureKind without its prefix, `retry` (default NEW_ATTEMPT), `reason`
 *
 * A call that says nothing answers an empty chat message.
 */
export const conversationSchema = z.strictObject({
  task: z.string().min(1),
  taskset: z.string().min(1).optional(),
  agent: z.string().min(1).default("*"),
  calls: z.array(callSchema),
});

/** One conversation of a script. */
export type Conversation = z.output<typeof conversationSchema>;
/** One call of a conversation. */
export type ScriptedCall = z.output<typeof callSchema>;
