import { z } from "zod";

const text = z.string().nullish();

const toolCall = z.looseObject({
  id: text,
  type: text,
  function: z.looseObject({ name: z.string(), arguments: z.string() }).nullish(),
});

const message = z.looseObject({
  content: text,
  refusal: text,
  reasoning_content: text,
  reasoning: text,
  tool_calls: z.array(toolCall).nullish(),
});

const logprobs = z.looseObject({
  content: z.array(z.looseObject({ token: z.string(), logprob: z.unknown().optional() })).nullish(),
});

const tokenIds = z.array(z.int().min(0)).nullish();

const choice = z.looseObject({
  index: z.int().min(0).nullish(),
  finish_reason: z.string(),
  message,
  logprobs: logprobs.nullish(),
  token_ids: tokenIds,
});

const tokens = z.int().min(0);

const usage = z.looseObject({
  prompt_tokens: tokens,
  completion_tokens: tokens,
  prompt_tokens_details: z.looseObject({ cached_tokens: tokens.nullish() }).nullish(),
  completion_tokens_details: z.looseObject({ reasoning_tokens: tokens.nullish() }).nullish(),
});

/** A whole answer of Chat Completions, as much of it as is read; what else it holds is kept. */
export const completionSchema = z.looseObject({
  choices: z.array(choice),
  usage,
  prompt_token_ids: tokenIds,
});

/** One chunk of a streamed answer. */
export const chunkSchema = z.looseObject({
  choices: z
    .array(
      z.looseObject({
        index: z.int().min(0).nullish(),
        delta: z
          .looseObject({
            content: text,
            refusal: text,
            reasoning_content: text,
            reasoning: text,
            tool_calls: z
              .array(
                z.looseObject({
                  index: z.int().min(0),
                  id: text,
                  function: z.looseObject({ name: text, arguments: text }).nullish(),
                }),
              )
              .nullish(),
          })
          .nullish(),
        finish_reason: text,
        logprobs: logprobs.nullish(),
        token_ids: tokenIds,
      }),
    )
    .nullish(),
  usage: usage.nullish(),
  prompt_token_ids: tokenIds,
});

/** A whole answer. */
export type Completion = z.output<typeof completionSchema>;
/** One of its choices. */
export type CompletionChoice = z.output<typeof choice>;
/** A piece of an answer. */
export type Chunk = z.output<typeof chunkSchema>;
