import OpenAI from "openai";
import type { Stream } from "openai/core/streaming";
import type { Clock } from "../../../runtime/clock.js";
import { httpFetch } from "../../../runtime/http-fetch.js";
import { pause } from "../../../runtime/pause.js";
import type { OpenaiOptions } from "./options.js";
import {
  type AnswerableKind,
  brokenAnswer,
  isAnswerable,
  readUpstreamError,
  toldAs,
  type UpstreamError,
} from "./upstream-error.js";

/** What an upstream is asked. */
export interface UpstreamRequest {
  /** Path behind the base URL, such as `/chat/completions`. */
  readonly path: string;
  /** Body as JSON text: numbers stand in it as they were given. */
  readonly body: string;
  readonly signal: AbortSignal;
  /** Milliseconds that the caller has left; undefined: no bound. */
  readonly timeLeftMs: () => number | undefined;
}

/** An error of the upstream that a model may answer for: the context is full, a filter took the prompt. */
export class AnswerableError extends Error {
  constructor(readonly upstream: AnswerableKind) {
    super(`the upstream answered: ${upstream.kind}`);
    this.name = "AnswerableError";
  }
}

/** The upstream, asked with repeats where these are safe. */
export interface Upstream {
  /** The JSON value that it answers. */
  ask(request: UpstreamRequest): Promise<unknown>;
  /** The JSON values that it streams. Throws when the stream ends early in an error; its end may come early all the same. */
  stream(request: UpstreamRequest): Promise<AsyncIterable<unknown>>;
  close(): void;
}

/** Milliseconds of the first wait where the upstream names none; doubled each time up to the longest. */
const firstWaitMs = 250;
const longestWaitMs = 8000;
/** The client's own timer is set as far away as it goes: a call ends with its caller. */
const noTimeoutMs = 2 ** 31 - 1;

/** What a test may put in place of time and chance. */
export interface UpstreamSeams {
  readonly clock: Clock;
  /** From 0 to below 1; spreads repeats of many callers. */
  readonly random: () => number;
}

/** The upstream of these options. */
export function createUpstream(options: OpenaiOptions, { clock, random }: UpstreamSeams): Upstream {
  const { api_key: apiKey, headers } = options;
  const { fetch, close } = httpFetch({
    ...headers,
    ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
  });
  const client = new OpenAI({
    baseURL: options.base_url,
    // Headers are `httpFetch`'s: what the client would read from the environment is not sent.
    apiKey: "none",
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
    maxRetries: 0,
    timeout: noTimeoutMs,
    // It would print what it cannot parse.
    logLevel: "off",
    fetch,
  });

  /** Tries again what is sure not to have been done, within attempts and time (field-case-40). */
  async function tried<A>({ signal, timeLeftMs }: UpstreamRequest, send: () => Promise<A>): Promise<A> {
    const began = clock.now();
    const boundMs = Math.min(options.retry_timeout_ms, timeLeftMs() ?? Number.POSITIVE_INFINITY);
    for (let attempts = 1; ; attempts += 1) {
      try {
        return await send();
      } catch (thrown) {
        signal.throwIfAborted();
        const error = readUpstreamError(thrown);
        if (isAnswerable(error)) throw new AnswerableError(error);
        const elapsedMs = clock.now() - began;
        if (!isRepeatable(error) || attempts >= options.max_attempts)
          throw toldAs(error, { attempts, elapsedMs });
        const named = error.kind === "status" ? error.retryAfterMs : undefined;
        const waitMs =
          named ?? Math.min(longestWaitMs, firstWaitMs * 2 ** (attempts - 1)) * (0.5 + random() / 2);
        if (elapsedMs + waitMs > boundMs) {
          const bound = `another one in ${Math.round(waitMs)} ms would be beyond the bound of ${Math.round(boundMs)} ms`;
          throw toldAs(error, { attempts, elapsedMs, bound });
        }
        await pause(waitMs, { clock, signal });
      }
    }
  }

  const post = <A>({ path, body, signal }: UpstreamRequest, stream: boolean): Promise<A> =>
    client.post<A>(path, {
      body,
      headers: { "content-type": "application/json" },
      signal,
      stream,
    });

  return {
    ask: (request) =>
      tried(request, async () => {
        const answer = await post<unknown>(request, false);
        // Anything but JSON comes as text.
        if (typeof answer === "string") throw new SyntaxError("no JSON");
        return answer;
      }),
    async stream(request) {
      const events = await tried(request, () => post<Stream<unknown>>(request, true));
      return readable(events, request.signal);
    },
    close,
  };
}

/** Refused connections, 429 and 503 before the first byte: nothing was done. */
function isRepeatable(error: UpstreamError): boolean {
  return (
    error.kind === "unreachable" ||
    (error.kind === "status" && (error.status === 429 || error.status === 503))
  );
}

/** The events of a stream, its errors told as ours; an aborted stream ends with the signal's reason. */
async function* readable(events: Stream<unknown>, signal: AbortSignal): AsyncGenerator<unknown> {
  try {
    yield* events;
  } catch (thrown) {
    signal.throwIfAborted();
    const error = readUpstreamError(thrown);
    if (isAnswerable(error)) throw new AnswerableError(error);
    // Neither is anything but a connection that broke, once an answer has begun.
    if (error.kind === "unreachable" || error.kind === "status")
      throw brokenAnswer({ kind: "broken", answered: true });
    throw brokenAnswer(error);
  }
  signal.throwIfAborted();
}
