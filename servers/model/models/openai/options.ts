import { z } from "zod";

const loopback = new Set(["127.0.0.1", "[::1]", "localhost"]);

/** Options of the model behind an OpenAI-compatible API. None of their values is ever printed. */
export const openaiOptions = z
  .strictObject({
    /** Base URL of the API, such as `https://host/v1`. */
    base_url: z.url({ protocol: /^https?$/ }),
    /** Credential; absent: none is sent, whatever the environment of the process holds (field-case-113). */
    api_key: z.string().min(1).optional(),
    /** Further headers of every request. */
    headers: z.record(z.string(), z.string()).default({}),
    /** Sends credentials over http to other machines than this one, which is refused otherwise (field-case-136). */
    clear_text: z.boolean().default(false),
    /** The model's name there. */
    model: z.string().min(1),
    /** Which of its APIs is spoken. */
    api: z.enum(["chat", "responses"]).default("chat"),
    /** Tokens of a prompt and its answer. */
    context_tokens: z.int().min(1).default(131_072),
    /** Tokens of an answer; absent: what the upstream allows. */
    max_output_tokens: z.int().min(1).optional(),
    /** Where Chat Completions takes that limit; servers that know only the older name leave the newer one unheeded. */
    max_tokens_field: z.enum(["max_completion_tokens", "max_tokens"]).default("max_completion_tokens"),
    /** Choices of one call; Responses has one. */
    max_choices: z.int().min(1).default(16),
    /** Version of the weights; `unknown` where nobody tells. */
    weights_version: z.string().min(1).default("unknown"),
    /**
     * The upstream takes more of Sampling than its API says, as vLLM does: top_k, min_p, repetition_penalty and
     * stop_token_ids, and with Responses stop, seed and penalties. False: a call that sets one of them is refused by name.
     */
    sampling_extensions: z.boolean().default(false),
    /** The upstream tells token ids and log-probs (`return_token_ids` of Chat Completions, as vLLM does). */
    token_ids: z.boolean().default(false),
    /** What its log-probs are of: the model's own distribution, or the one sampled from. */
    logprob_kind: z.enum(["raw", "processed"]).default("raw"),
    /** Tries of one call in all; only refused connections, 429 and 503 are tried again. */
    max_attempts: z.int().min(1).default(4),
    /** Milliseconds from the first try in which another one may begin. */
    retry_timeout_ms: z.number().min(0).default(60_000),
  })
  .superRefine((options, context) => {
    const url = new URL(options.base_url);
    const refuse = (path: string, message: string): void =>
      context.addIssue({ code: "custom", path: [path], message });
    if (url.username !== "" || url.password !== "") {
      refuse(
        "base_url",
        "expected no user and password in the URL: put the credential into api_key or headers",
      );
    }
    const secret = options.api_key !== undefined || Object.keys(options.headers).length > 0;
    if (secret && url.protocol === "http:" && !loopback.has(url.hostname) && !options.clear_text) {
      refuse(
        "base_url",
        "expected https for a URL that credentials are sent to; clear_text: true sends them over http",
      );
    }
    if (options.token_ids && options.api !== "chat") {
      refuse("token_ids", "expected false: only Chat Completions tells token ids; set api: chat");
    }
  });

/** Options as they hold. */
export type OpenaiOptions = z.output<typeof openaiOptions>;
