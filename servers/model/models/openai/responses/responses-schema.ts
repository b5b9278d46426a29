import { z } from "zod";

const tokens = z.int().min(0);

const usage = z.looseObject({
  input_tokens: tokens,
  output_tokens: tokens,
  input_tokens_details: z.looseObject({ cached_tokens: tokens.nullish() }).nullish(),
  output_tokens_details: z.looseObject({ reasoning_tokens: tokens.nullish() }).nullish(),
});

/** An entry of an output, of whatever type. */
export const entrySchema = z.looseObject({ type: z.string() });

/** A whole answer of Responses, as much of it as is read; what else it holds is kept. */
export const responseSchema = z.looseObject({
  status: z.string().default("completed"),
  error: z.looseObject({ code: z.string().nullish(), message: z.string().nullish() }).nullish(),
  incomplete_details: z.looseObject({ reason: z.string().nullish() }).nullish(),
  output: z.array(entrySchema),
  usage: usage.nullish(),
});

const outputText = z.looseObject({ type: z.literal("output_text"), text: z.string() });
const refusal = z.looseObject({ type: z.literal("refusal"), refusal: z.string() });

/**
 * Entries that are items of their own. An entry of these types in another shape is kept as it is; so is a message that is
 * partly a refusal, since an item is one wholly or not at all.
 */
export const messageSchema = z.looseObject({
  type: z.literal("message"),
  role: z.literal("assistant"),
  content: z.union([z.array(outputText), z.array(refusal)]),
});

/** A call of a function; see `messageSchema`. */
export const functionCallSchema = z.looseObject({
  type: z.literal("function_call"),
  call_id: z.string().min(1),
  name: z.string(),
  arguments: z.string(),
  status: z.string().nullish(),
});

const textPart = (type: string) => z.looseObject({ type: z.literal(type), text: z.string() });

/** Reasoning; see `messageSchema`. */
export const reasoningSchema = z.looseObject({
  type: z.literal("reasoning"),
  summary: z.array(textPart("summary_text")).nullish(),
  content: z.array(textPart("reasoning_text")).nullish(),
  encrypted_content: z.string().nullish(),
});

/** One event of a streamed answer, as much of it as is read. */
export const eventSchema = z.looseObject({
  type: z.string(),
  output_index: z.int().min(0).nullish(),
  content_index: z.int().min(0).nullish(),
  delta: z.unknown().optional(),
  item: entrySchema.nullish(),
  response: z.unknown().optional(),
  code: z.string().nullish(),
  message: z.string().nullish(),
});

/** A whole answer. */
export type ResponsesAnswer = z.output<typeof responseSchema>;
/** An entry of an output. */
export type Entry = z.output<typeof entrySchema>;
