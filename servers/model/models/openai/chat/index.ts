import type { ModelCall } from "../../../define-model.js";
import type { Api } from "../api.js";
import type { Json } from "../extra.js";
import type { OpenaiOptions } from "../options.js";
import { readJson } from "../read-json.js";
import type { Upstream, UpstreamRequest } from "../upstream.js";
import { brokenAnswer } from "../upstream-error.js";
import { readCompletion } from "./chat-answer.js";
import { ChatChunks } from "./chat-chunks.js";
import { chatBody, chatPrompt } from "./chat-request.js";
import { completionSchema } from "./chat-schema.js";

const path = "/chat/completions";

/** Chat Completions. */
export function chatApi(options: OpenaiOptions, upstream: Upstream): Api {
  return {
    async generate(call, limit) {
      const request = {
        path,
        body: chatBody(options, call, limit),
        signal: call.signal,
        timeLeftMs: call.timeLeftMs,
      };
      const answer = call.streaming ? await streamed(upstream, request, call) : await upstream.ask(request);
      const completion = readJson(completionSchema, answer);
      return readCompletion(options, call, { completion, limit });
    },
    async countTokens(prompt, signal) {
      // There is no rpc for it: what one token more would cost tells exactly what the prompt has.
      const body = JSON.stringify({ ...chatPrompt(options, prompt), [options.max_tokens_field]: 1 });
      const answer = await upstream.ask({ path, body, signal, timeLeftMs: () => undefined });
      return readJson(completionSchema, answer).usage.prompt_tokens;
    },
  };
}

async function streamed(upstream: Upstream, request: UpstreamRequest, call: ModelCall): Promise<Json> {
  const chunks = new ChatChunks(call);
  for await (const chunk of await upstream.stream(request)) chunks.add(chunk);
  const { whole } = chunks;
  if (whole === undefined) throw brokenAnswer({ kind: "broken", answered: true });
  return whole;
}
