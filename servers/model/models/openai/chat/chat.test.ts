import { describe, expect, it } from "vitest";
import {
  CaptureLevel,
  FailureKind,
  FinishReason,
  LogprobKind,
  Role,
  ToolChoice,
} from "../../../../../gen/index.js";
import { completion, FakeOpenai, sendChunks, sendError, sendJson } from "../../../fixtures/fake-openai.js";
import { ask, assistant, method, ServedModel, toolResultOf, user } from "../../../fixtures/served-model.js";
import { idsOfBytes, logprobsOfBytes } from "../../../token-bytes.js";
import { openai } from "../index.js";

type Options = Partial<Parameters<typeof openai>[0]>;

const serveOver = (fake: FakeOpenai, options: Options = {}) =>
  ServedModel.start(openai({ base_url: fake.url, model: "m", ...options }));

/** The body of the only request of a call with this prompt. */
async function bodyOf(
  request: Parameters<typeof ask>,
  options: Options = {},
): Promise<Record<string, unknown>> {
  await using fake = await FakeOpenai.start((_request, response) =>
    sendJson(response, completion({ content: "ok" })),
  );
  await using served = await serveOver(fake, options);
  await served.answer(ask(...request));
  expect(fake.requests.map(({ path }) => path)).toEqual(["/v1/chat/completions"]);
  return fake.requests[0]?.body ?? {};
}

const textBlock = (text: string) => ({ kind: { case: "text" as const, value: text } });
const said = (role: Role, ...content: object[]) => ({
  kind: { case: "chatMessage" as const, value: { role, content: content as never } },
});

describe("what Chat Completions is asked", () => {
  it("is the conversation as messages: items of one turn are one message", async () => {
    const turn = (kind: object, turnId = "t1") => ({ turnId, kind: kind as never });
    const { messages } = await bodyOf([
      [
        said(Role.SYSTEM, textBlock("be brief")),
        said(Role.DEVELOPER, textBlock("and kind")),
        {
          kind: { case: "chatMessage", value: { role: Role.USER, name: "ann", content: [textBlock("hi")] } },
        },
        turn({ case: "reasoning", value: { content: [textBlock("hm")] } }),
        turn({ case: "chatMessage", value: { role: Role.ASSISTANT, content: [textBlock("so")] } }),
        turn({ case: "toolCall", value: { callId: "a", name: "t", argumentsJson: '{ "x" :1}' } }),
        turn({ case: "toolCall", value: { callId: "b", name: "u", argumentsJson: "not json" } }),
        toolResultOf("a", "42"),
        { kind: { case: "toolResult", value: { callId: "b", structuredJson: '{"n":1}' } } },
        turn({ case: "chatMessage", value: { role: Role.ASSISTANT, content: [textBlock("one")] } }, ""),
        turn({ case: "chatMessage", value: { role: Role.ASSISTANT, content: [textBlock("two")] } }, ""),
        turn(
          { case: "chatMessage", value: { role: Role.ASSISTANT, content: [textBlock("no")], refusal: true } },
          "t9",
        ),
        said(Role.USER, textBlock("a"), { kind: { case: "json", value: "{}" } }),
      ],
    ]);
    expect(messages).toEqual([
      { role: "system", content: "be brief" },
      { role: "developer", content: "and kind" },
      { role: "user", content: "hi", name: "ann" },
      {
        role: "assistant",
        reasoning_content: "hm",
        content: "so",
        tool_calls: [
          { type: "function", id: "a", function: { name: "t", arguments: '{ "x" :1}' } },
          { type: "function", id: "b", function: { name: "u", arguments: "not json" } },
        ],
      },
      { role: "tool", tool_call_id: "a", content: "42" },
      { role: "tool", tool_call_id: "b", content: '{"n":1}' },
      { role: "assistant", content: "one" },
      { role: "assistant", content: "two" },
      { role: "assistant", refusal: "no", content: null },
      {
        role: "user",
        content: [
          { type: "text", text: "a" },
          { type: "text", text: "{}" },
        ],
      },
    ]);
  });

  it("has images, audio and documents as parts; what it cannot take is refused by name", async () => {
    const blob = (mediaType: string) => ({
      kind: { case: "blob", value: { mediaType, data: Buffer.from("hi") } },
    });
    const { messages } = await bodyOf([
      [
        said(
          Role.USER,
          textBlock("look"),
          {
            ...blob("image/png"),
            extraJson: '{"openai_chat":{"cache":true},"other":{"x":1}}',
          },
          blob("audio/wav"),
          blob("application/pdf"),
          { kind: { case: "uri", value: { uri: "https://h/i.png" } } },
        ),
      ],
    ]);
    expect((messages as { content: unknown }[])[0]?.content).toEqual([
      { type: "text", text: "look" },
      { type: "image_url", image_url: { url: "data:image/png;base64,aGk=" }, cache: true },
      { type: "input_audio", input_audio: { data: "aGk=", format: "wav" } },
      { type: "file", file: { filename: "document.pdf", file_data: "data:application/pdf;base64,aGk=" } },
      { type: "image_url", image_url: { url: "https://h/i.png" } },
    ]);
    await using fake = await FakeOpenai.start((_request, response) =>
      sendJson(response, completion({ content: "ok" })),
    );
    await using served = await serveOver(fake);
    const video = await served.generate(ask([said(Role.USER, blob("video/mp4"))]));
    expect(video.error?.fields).toEqual(["prompt.items[0].chat_message.content[0].blob"]);
    const foreign = await served.generate(
      ask([{ kind: { case: "opaque", value: { type: "anthropic:thing", json: "{}" } } }]),
    );
    expect(foreign.error).toMatchObject({ reason: "INVALID_FIELD", fields: ["prompt.items[0].opaque"] });
    expect(fake.requests).toEqual([]);
  });

  it("has tools, tool choice, schema and sampling under its names, doubles and seeds exactly (MDL-GEN-013)", async () => {
    await using fake = await FakeOpenai.start((_request, response) =>
      sendJson(response, completion({ content: "ok" })),
    );
    await using served = await serveOver(fake, { max_output_tokens: 100 });
    await served.answer(
      ask([user("x")], {
        prompt: {
          tools: [
            {
              name: "t",
              description: "d",
              inputSchemaJson: '{"type":"object","properties":{"a":{"type":"number"}}}',
              strict: true,
            },
            { name: "u" },
          ],
          toolChoice: ToolChoice.NAMED,
          toolName: "u",
          parallelToolCalls: false,
          responseSchemaJson: '{"type":"object"}',
        },
        sampling: {
          temperature: 0.1 + 0.2,
          topP: 0.95,
          presencePenalty: -0.5,
          frequencyPenalty: 1e-7,
          stop: ["END"],
          seed: 9_223_372_036_854_775_807n,
          maxOutputTokens: 500n,
          reasoningEffort: "low",
        },
        choiceCount: 1,
      }),
    );
    const [request] = fake.requests;
    expect(request?.text).toContain('"temperature":0.30000000000000004');
    expect(request?.text).toContain('"frequency_penalty":1e-7');
    expect(request?.text).toContain('"seed":9223372036854775807');
    expect(request?.body).toMatchObject({
      model: "m",
      tools: [
        {
          type: "function",
          function: {
            name: "t",
            description: "d",
            parameters: { type: "object", properties: { a: { type: "number" } } },
            strict: true,
          },
        },
        { type: "function", function: { name: "u", parameters: { type: "object", properties: {} } } },
      ],
      tool_choice: { type: "function", function: { name: "u" } },
      parallel_tool_calls: false,
      response_format: { type: "json_schema", json_schema: { schema: { type: "object" }, strict: true } },
      top_p: 0.95,
      presence_penalty: -0.5,
      stop: ["END"],
      max_completion_tokens: 100,
      reasoning_effort: "low",
    });
    for (const absent of ["n", "stream", "logprobs", "return_token_ids", "top_k"]) {
      expect(request?.body).not.toHaveProperty(absent);
    }
  });

  it("has no parameter that the API lacks unless the upstream is said to take it", async () => {
    const sampling = { topK: 5, minP: 0.1, repetitionPenalty: 1.1, stopTokenIds: [7] };
    expect(await bodyOf([[user("x")], { sampling }], { sampling_extensions: true })).toMatchObject({
      top_k: 5,
      min_p: 0.1,
      repetition_penalty: 1.1,
      stop_token_ids: [7],
    });
    await using fake = await FakeOpenai.start((_request, response) =>
      sendJson(response, completion({ content: "ok" })),
    );
    await using served = await serveOver(fake);
    for (const [name, field] of Object.entries({
      topK: "top_k",
      minP: "min_p",
      repetitionPenalty: "repetition_penalty",
      stopTokenIds: "stop_token_ids",
    })) {
      const { error } = await served.generate(
        ask([user("x")], { sampling: { [name]: sampling[name as keyof typeof sampling] } }),
      );
      expect(error).toMatchObject({ reason: "INVALID_FIELD", fields: [`sampling.${field}`] });
    }
    expect(fake.requests).toEqual([]);
  });
});

describe("what Chat Completions answers", () => {
  const messages: readonly [string, Record<string, unknown>, string[]][] = [
    ["text", { role: "assistant", content: "hi", refusal: null, annotations: [] }, ["chatMessage"]],
    ["no words", { role: "assistant", content: "" }, ["chatMessage"]],
    ["nothing", { role: "assistant", content: null }, ["chatMessage"]],
    [
      "reasoning, text and calls",
      {
        role: "assistant",
        reasoning_content: "hm",
        content: "so",
        tool_calls: [
          { id: "a", type: "function", function: { name: "t", arguments: '{ "x":\t1.0 }' } },
          { id: "b", type: "function", index: 1, function: { name: "u", arguments: "", parsed: null } },
        ],
      },
      ["reasoning", "chatMessage", "toolCall", "toolCall"],
    ],
    [
      "calls alone, with a field of the provider",
      {
        role: "assistant",
        content: null,
        provider_field: { deep: [1, "two"] },
        tool_calls: [{ id: "a", type: "function", function: { name: "t", arguments: "{}" } }],
      },
      ["toolCall"],
    ],
    [
      "reasoning by another name",
      { role: "assistant", content: "so", reasoning: "hm" },
      ["reasoning", "chatMessage"],
    ],
    ["a refusal", { role: "assistant", content: null, refusal: "I cannot." }, ["chatMessage"]],
    [
      "text and a refusal",
      { role: "assistant", content: "Well.", refusal: "No." },
      ["chatMessage", "chatMessage"],
    ],
    [
      "another kind of tool call",
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "c", type: "custom", custom: { name: "x", input: "raw" } }],
      },
      ["opaque"],
    ],
    [
      "text that is empty beside calls",
      {
        role: "assistant",
        content: "",
        tool_calls: [{ id: "a", type: "function", function: { name: "t", arguments: "{}" } }],
      },
      ["toolCall"],
    ],
  ];

  it.each(messages)("goes back as it came: %s (ALL-DATA-006, ALL-DATA-007)", async (what, message, kinds) => {
    await using fake = await FakeOpenai.start((_request, response, number) =>
      sendJson(response, completion(number === 0 ? message : { content: "ok" })),
    );
    await using served = await serveOver(fake);
    const first = await served.answer(ask([user("x")]));
    const items = first.choices[0]?.items ?? [];
    expect(items.map(({ kind }) => kind.case)).toEqual(kinds);
    const passedOn = items.map((item, i) => ({ ...item, itemId: `mine-${i}`, agentId: "agent" }));
    await served.answer(ask([user("x"), ...passedOn, user("and?")]));
    // Saying nothing is saying no words.
    const wanted = what === "nothing" ? { ...message, content: "" } : message;
    expect(fake.entry(1, "messages", 1)).toEqual(wanted);
  });

  it.each([
    ["stop", { content: "x" }, FinishReason.STOP],
    ["length", { content: "x" }, FinishReason.LENGTH],
    [
      "tool_calls",
      { tool_calls: [{ id: "a", type: "function", function: { name: "t", arguments: "{}" } }] },
      FinishReason.TOOL_CALLS,
    ],
    [
      "stop",
      { tool_calls: [{ id: "a", type: "function", function: { name: "t", arguments: "{}" } }] },
      FinishReason.TOOL_CALLS,
    ],
    ["stop", { refusal: "no" }, FinishReason.REFUSAL],
    ["content_filter", { content: "x" }, FinishReason.CONTENT_FILTER],
  ])("finish_reason %s of %j", async (reason, message, finish) => {
    await using fake = await FakeOpenai.start((_request, response) =>
      sendJson(response, completion({}, { choices: [{ index: 0, message, finish_reason: reason }] })),
    );
    await using served = await serveOver(fake);
    expect((await served.answer(ask([user("x")]))).choices[0]?.finishReason).toBe(finish);
  });

  it("n choices and usage with its details (MDL-GEN-004, MDL-GEN-007)", async () => {
    await using fake = await FakeOpenai.start((_request, response) =>
      sendJson(
        response,
        completion(
          {},
          {
            choices: [2, 0, 1].map((index) => ({
              index,
              message: { role: "assistant", content: `c${index}` },
              finish_reason: index === 2 ? "length" : "stop",
            })),
            usage: {
              prompt_tokens: 10,
              completion_tokens: 30,
              prompt_tokens_details: { cached_tokens: 8 },
              completion_tokens_details: { reasoning_tokens: 7 },
            },
          },
        ),
      ),
    );
    await using served = await serveOver(fake);
    const answer = await served.answer(ask([user("x")], { choiceCount: 3 }));
    expect(fake.requests[0]?.body["n"]).toBe(3);
    expect(answer.choices.map(({ finishReason }) => finishReason)).toEqual([
      FinishReason.STOP,
      FinishReason.STOP,
      FinishReason.LENGTH,
    ]);
    expect(answer.usage).toMatchObject({
      inputTokens: 10n,
      cachedInputTokens: 8n,
      outputTokens: 30n,
      reasoningTokens: 7n,
      modelCalls: 1,
    });
  });

  it("field-case-87: a tool call that the limit cut is incomplete, one that was written badly is not", async () => {
    const call = (text: string) => ({
      id: text,
      type: "function",
      function: { name: "rm", arguments: text },
    });
    const reasons = ["length", "stop", "length"];
    const texts = ['{"path":"/tmp/a', '{"path": oops', '{"path":"/tmp/a"}'];
    await using fake = await FakeOpenai.start((_request, response, number) =>
      sendJson(
        response,
        completion(
          {},
          {
            choices: [
              {
                index: 0,
                message: { tool_calls: [call(texts[number] ?? "")] },
                finish_reason: reasons[number],
              },
            ],
          },
        ),
      ),
    );
    await using served = await serveOver(fake);
    const incomplete: (boolean | undefined)[] = [];
    for (const _ of texts) {
      const [item] = (await served.answer(ask([user("x")]))).choices[0]?.items ?? [];
      incomplete.push(item?.kind.case === "toolCall" ? item.kind.value.incomplete : undefined);
    }
    expect(incomplete).toEqual([true, false, false]);
  });
});

describe("field-case-85: a context that is full", () => {
  const tooLong =
    "This model's maximum context length is 256 tokens. However, your request has 300 input tokens.";

  it.each([
    ["by the API's code", { code: "context_length_exceeded" }],
    ["by the words of vLLM", { message: tooLong, type: "BadRequestError", code: 400 }],
    ["by the words of an older vLLM", { message: "max_tokens must be at least 1, got -186." }],
  ])("is an answer without tokens: told %s (MDL-GEN-003)", async (_how, error) => {
    await using fake = await FakeOpenai.start((_request, response) => sendError(response, 400, error));
    await using served = await serveOver(fake, { context_tokens: 256 });
    const answer = await served.answer(ask([user("x")]));
    expect(answer.choices).toMatchObject([{ items: [], finishReason: FinishReason.CONTEXT_LENGTH }]);
    const streamed = await served.stream(ask([user("x")]));
    expect(streamed.messages.at(-1)?.event.case).toBe("completed");
    const counted = await served.client.unary(method.countTokens, { prompt: { items: [user("x")] } });
    expect(counted.error?.failure?.kind).toBe(FailureKind.MODEL_UNAVAILABLE);
  });

  it("a limit beyond what is left is no over-long prompt: what is left is generated", async () => {
    await using fake = await FakeOpenai.start(({ body }, response) =>
      "max_completion_tokens" in body
        ? sendError(response, 400, {
            message: `${tooLong} 'max_completion_tokens' is too large: 50. Your request has 255 input tokens.`,
          })
        : sendJson(
            response,
            completion(
              {},
              {
                choices: [{ index: 0, message: { content: "a" }, finish_reason: "length" }],
                usage: { prompt_tokens: 255, completion_tokens: 1 },
              },
            ),
          ),
    );
    await using served = await serveOver(fake, { context_tokens: 256 });
    const answer = await served.answer(ask([user("x")], { sampling: { maxOutputTokens: 50n } }));
    expect(fake.requests).toHaveLength(2);
    expect(answer).toMatchObject({
      choices: [{ finishReason: FinishReason.CONTEXT_LENGTH, items: [{}] }],
      usage: { inputTokens: 255n, outputTokens: 1n },
    });
  });

  it("a filter that takes the prompt is an answer as well", async () => {
    await using fake = await FakeOpenai.start((_request, response) =>
      sendError(response, 400, { code: "content_filter" }),
    );
    await using served = await serveOver(fake);
    const answer = await served.answer(ask([user("x")]));
    expect(answer.choices).toMatchObject([{ items: [], finishReason: FinishReason.CONTENT_FILTER }]);
  });
});

describe("a stream of Chat Completions", () => {
  const chunk = (delta: object, change: object = {}) => ({
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta, finish_reason: null, ...change }],
  });
  const usage = { id: "chatcmpl-1", choices: [], usage: { prompt_tokens: 10, completion_tokens: 5 } };

  it("gives the pieces as they come and the same answer as without one (MDL-GEN-009)", async () => {
    const message = {
      role: "assistant",
      reasoning_content: "hm hm",
      content: "so it is",
      tool_calls: [
        { id: "a", type: "function", function: { name: "t", arguments: '{"x": 1}' } },
        { id: "b", type: "function", function: { name: "u", arguments: "{}" } },
      ],
    };
    await using fake = await FakeOpenai.start(({ body }, response) =>
      body["stream"] === true
        ? sendChunks(response, [
            chunk({ role: "assistant", content: "" }),
            chunk({ reasoning_content: "hm" }),
            chunk({ reasoning_content: " hm" }),
            chunk({ content: "so " }),
            chunk({ content: "it is" }),
            chunk({
              tool_calls: [{ index: 0, id: "a", type: "function", function: { name: "t", arguments: "" } }],
            }),
            chunk({ tool_calls: [{ index: 0, function: { arguments: '{"x"' } }] }),
            chunk({ tool_calls: [{ index: 0, function: { arguments: ": 1}" } }] }),
            chunk({
              tool_calls: [{ index: 1, id: "b", type: "function", function: { name: "u", arguments: "{}" } }],
            }),
            chunk({}, { finish_reason: "tool_calls" }),
            usage,
          ])
        : sendJson(
            response,
            completion(
              {},
              { choices: [{ index: 0, message, finish_reason: "tool_calls" }], usage: usage.usage },
            ),
          ),
    );
    await using served = await serveOver(fake);
    const { messages, error } = await served.stream(ask([user("x")]));
    expect(error).toBeUndefined();
    expect(fake.requests[0]?.body).toMatchObject({ stream: true, stream_options: { include_usage: true } });
    const deltas = messages.flatMap(({ event }) => (event.case === "delta" ? [event.value.delta] : []));
    const pieces = deltas.map((delta) => [delta?.piece.case, delta?.piece.value]);
    expect(pieces.map(([, text]) => text).join("")).toBe('hm hmso it is{"x": 1}{}');
    expect(new Set(pieces.map(([kind]) => kind))).toEqual(new Set(["reasoning", "text", "argumentsJson"]));
    const last = messages.at(-1)?.event;
    const unary = await served.answer(ask([user("x")]));
    const comparable = (value: unknown) =>
      JSON.stringify(value, (name, v) =>
        name === "modelTime" ? undefined : typeof v === "bigint" ? `${v}` : v,
      ).replaceAll(/call-[0-9a-f]{36}/g, "CALL");
    expect(comparable(last?.case === "completed" ? last.value : undefined)).toBe(comparable(unary));
  });

  it("of several choices keeps them apart", async () => {
    const at = (index: number, delta: object, finish: string | null = null) => ({
      choices: [{ index, delta, finish_reason: finish }],
    });
    await using fake = await FakeOpenai.start((_request, response) =>
      sendChunks(response, [
        at(1, { content: "b1" }),
        at(0, { content: "a1" }),
        at(1, { content: "b2" }, "length"),
        at(0, { content: "a2" }, "stop"),
        usage,
      ]),
    );
    await using served = await serveOver(fake);
    const { messages } = await served.stream(ask([user("x")], { choiceCount: 2 }));
    const last = messages.at(-1)?.event;
    const choices = last?.case === "completed" ? last.value.choices : [];
    expect(choices.map(({ items, finishReason }) => [items[0]?.kind.value, finishReason])).toMatchObject([
      [{ content: [{ kind: { value: "a1a2" } }] }, FinishReason.STOP],
      [{ content: [{ kind: { value: "b1b2" } }] }, FinishReason.LENGTH],
    ]);
  });
});

describe("tokens of a vLLM-like upstream", () => {
  const logprobs = (...values: unknown[]) => ({
    content: values.map((logprob, i) => ({
      token: `token_id:${41 + i}`,
      logprob,
      bytes: null,
      top_logprobs: [],
    })),
  });
  const told = (change: object = {}) =>
    completion(
      {},
      {
        prompt_token_ids: [1, 2, 3],
        choices: [
          {
            index: 0,
            message: { role: "assistant", content: "ab" },
            finish_reason: "stop",
            token_ids: [41, 42, 43],
            logprobs: logprobs(-0.5, -0.25, -0.125),
            ...change,
          },
        ],
      },
    );

  it("come through untouched, the prompt's too (MDL-LOGP-001, MDL-GATE-011)", async () => {
    await using fake = await FakeOpenai.start((_request, response) => sendJson(response, told()));
    await using served = await serveOver(fake, {
      token_ids: true,
      weights_version: "step-7",
      logprob_kind: "processed",
    });
    const answer = await served.answer(
      ask([user("x")], { wantLogprobs: true, sampling: { temperature: 0.5 } }),
    );
    expect(fake.requests[0]?.body).toMatchObject({ return_token_ids: true, logprobs: true });
    const record = answer.choices[0]?.tokens;
    expect(idsOfBytes(record?.promptTokenIds ?? new Uint8Array())).toEqual([1, 2, 3]);
    expect(idsOfBytes(record?.outputTokenIds ?? new Uint8Array())).toEqual([41, 42, 43]);
    expect(logprobsOfBytes(record?.outputLogprobs ?? new Uint8Array())).toEqual([-0.5, -0.25, -0.125]);
    expect(record).toMatchObject({
      logprobKind: LogprobKind.PROCESSED,
      weightSpans: [{ fromToken: 0, version: "step-7" }],
      sampling: { temperature: 0.5 },
    });
    // Counted, not told: the upstream said 10 and 5.
    expect(answer.usage).toMatchObject({ inputTokens: 3n, outputTokens: 3n });
  });

  it("are put together from a stream", async () => {
    await using fake = await FakeOpenai.start((_request, response) =>
      sendChunks(response, [
        { prompt_token_ids: [1, 2, 3], choices: [{ index: 0, delta: { role: "assistant", content: "" } }] },
        { choices: [{ index: 0, delta: { content: "a" }, token_ids: [41], logprobs: logprobs(-0.5) }] },
        {
          choices: [
            {
              index: 0,
              delta: { content: "b" },
              token_ids: [42, 43],
              logprobs: { content: logprobs(0, -0.25, -0.125).content.slice(1) },
              finish_reason: "stop",
            },
          ],
        },
        { choices: [], usage: { prompt_tokens: 3, completion_tokens: 3 } },
      ]),
    );
    await using served = await serveOver(fake, { token_ids: true });
    const { messages } = await served.stream(ask([user("x")], { wantLogprobs: true }));
    const last = messages.at(-1)?.event;
    const record = last?.case === "completed" ? last.value.choices[0]?.tokens : undefined;
    expect(idsOfBytes(record?.outputTokenIds ?? new Uint8Array())).toEqual([41, 42, 43]);
    expect(logprobsOfBytes(record?.outputLogprobs ?? new Uint8Array())).toEqual([-0.5, -0.25, -0.125]);
    expect(record?.logprobKind).toBe(LogprobKind.RAW);
  });

  it.each([
    ["field-case-80: one log-prob too few", { logprobs: logprobs(-1, -1) }, "3 output ids and 2 log-probs"],
    ["field-case-80: no log-probs", { logprobs: null }, "3 output ids and 0 log-probs"],
    [
      "field-case-80: ids and log-probs of different tokens",
      { token_ids: [41, 42, 99] },
      "of different tokens from index 2 on",
    ],
    ["field-case-82: NaN", { logprobs: logprobs(-1, "NaN", -1) }, "index 1 that is no finite number"],
    ["field-case-82: null", { logprobs: logprobs(-1, -1, null) }, "index 2 that is no finite number"],
    [
      "field-case-82: -Infinity",
      { logprobs: logprobs("-Infinity", -1, -1) },
      "index 0 that is no finite number",
    ],
  ])("that are wrong fail the call: %s", async (_what, change, reason) => {
    await using fake = await FakeOpenai.start((_request, response) => sendJson(response, told(change)));
    await using served = await serveOver(fake, { token_ids: true });
    const { error } = await served.generate(ask([user("x")], { wantLogprobs: true }));
    expect(error?.failure).toMatchObject({ kind: FailureKind.MODEL_INVALID_OUTPUT });
    expect(error?.failure?.reason).toContain(reason);
  });

  it("that it does not tell are a fault of the capture, and a prefix is refused, never repaired", async () => {
    await using fake = await FakeOpenai.start((_request, response) =>
      sendJson(response, completion({ content: "x" })),
    );
    await using served = await serveOver(fake, { token_ids: true });
    const { key } = await served.open("g1", { capture: CaptureLevel.TOKENS });
    const first = await served.answer(ask([user("x")]), key);
    await served.answer(ask([user("x"), ...(first.choices[0]?.items ?? []), user("y")]), key);
    const captured = await served.capture("g1");
    expect(captured.map(({ captureFault }) => captureFault)).toEqual(
      Array(2).fill("the model could not tell the tokens of choice 0"),
    );
    expect(captured[1]?.parentCallId).toBe(first.callId);
    const { error } = await served.generate(
      ask([user("x"), assistant("y")], { prompt: { prefixItems: 1, prefixTokenIds: new Uint8Array(4) } }),
    );
    expect(error?.reason).toBe("PREFIX_NOT_EXTENSIBLE");
    expect(fake.requests).toHaveLength(2);
  });
});

describe("CountTokens", () => {
  it("asks for one token and answers what the prompt had (MDL-GEN-008)", async () => {
    await using fake = await FakeOpenai.start((_request, response) =>
      sendJson(response, completion({ content: "x" })),
    );
    await using served = await serveOver(fake);
    const tools = [{ name: "t" }];
    const { message } = await served.client.unary(method.countTokens, {
      prompt: { items: [user("x")], tools },
    });
    expect(message?.inputTokens).toBe(10n);
    expect(fake.requests[0]?.body).toMatchObject({ max_completion_tokens: 1, tools: [{ type: "function" }] });
  });
});
