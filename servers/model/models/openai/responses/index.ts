import { z } from "zod";
import type { ModelCall } from "../../../define-model.js";
import type { Api } from "../api.js";
import type { Json } from "../extra.js";
import type { OpenaiOptions } from "../options.js";
import { readJson } from "../read-json.js";
import type { Upstream, UpstreamRequest } from "../upstream.js";
import { brokenAnswer } from "../upstream-error.js";
import { readResponse } from "./responses-answer.js";
import { ResponsesEvents } from "./responses-events.js";
import { responsesBody, responsesPrompt } from "./responses-request.js";
import { responseSchema } from "./responses-schema.js";

const path = "/responses";
const countSchema = z.looseObject({ input_tokens: z.int().min(0) });

/** Responses. */
export function responsesApi(options: OpenaiOptions, upstream: Upstream): Api {
  return {
    async generate(call, limit) {
      const { signal, timeLeftMs } = call;
      const request = { path, body: responsesBody(options, call, limit), signal, timeLeftMs };
      const value = call.streaming ? await streamed(upstream, request, call) : await upstream.ask(request);
      return readResponse(options, call, { answer: readJson(responseSchema, value), limit });
    },
    async countTokens(prompt, signal) {
      const body = JSON.stringify(responsesPrompt(options, prompt));
      const counted = await upstream.ask({
        path: `${path}/input_tokens`,
        body,
        signal,
        timeLeftMs: () => undefined,
      });
      return readJson(countSchema, counted).input_tokens;
    },
  };
}

async function streamed(upstream: Upstream, request: UpstreamRequest, call: ModelCall): Promise<Json> {
  const events = new ResponsesEvents(call);
  for await (const event of await upstream.stream(request)) events.add(event);
  const { whole } = events;
  if (whole === undefined) throw brokenAnswer({ kind: "broken", answered: true });
  return whole;
}
