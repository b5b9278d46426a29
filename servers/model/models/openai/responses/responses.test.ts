import { describe, expect, it } from "vitest";
import { FailureKind, FinishReason, Role, ToolChoice } from "../../../../../gen/index.js";
import {
  FakeOpenai,
  responsesAnswer,
  sendError,
  sendEvents,
  sendJson,
} from "../../../fixtures/fake-openai.js";
import { ask, method, ServedModel, toolResultOf, user } from "../../../fixtures/served-model.js";
import { openai } from "../index.js";

type Options = Partial<Parameters<typeof openai>[0]>;
type Json = Record<string, unknown>;

const serveOver = (fake: FakeOpenai, options: Options = {}) =>
  ServedModel.start(openai({ base_url: fake.url, model: "m", api: "responses", ...options }));

const said = (text: string): Json => ({
  type: "message",
  id: "msg_1",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text, annotations: [] }],
});

describe("what Responses is asked", () => {
  it("is the conversation as entries, and nothing is stored there", async () => {
    await using fake = await FakeOpenai.start((_request, response) =>
      sendJson(response, responsesAnswer([said("ok")])),
    );
    await using served = await serveOver(fake);
    const text = (value: string) => ({ kind: { case: "text" as const, value } });
    await served.answer(
      ask(
        [
          { kind: { case: "chatMessage", value: { role: Role.DEVELOPER, content: [text("be brief")] } } },
          {
            kind: {
              case: "chatMessage",
              value: {
                role: Role.USER,
                content: [
                  text("look"),
                  { kind: { case: "blob", value: { mediaType: "image/png", data: Buffer.from("hi") } } },
                ],
              },
            },
          },
          {
            itemId: "r",
            kind: {
              case: "reasoning",
              value: { summary: [text("hm")], sealed: Buffer.from("x"), provider: "other" },
            },
          },
          { kind: { case: "toolCall", value: { callId: "a", name: "t", argumentsJson: '{ "x":1 }' } } },
          toolResultOf("a", "42"),
          { kind: { case: "chatMessage", value: { role: Role.ASSISTANT, content: [text("so")] } } },
          {
            kind: {
              case: "chatMessage",
              value: { role: Role.ASSISTANT, refusal: true, content: [text("no")] },
            },
          },
          {
            kind: {
              case: "opaque",
              value: {
                type: "openai_responses:web_search_call",
                json: '{"type":"web_search_call","id":"ws_1"}',
              },
            },
          },
        ],
        {
          prompt: {
            tools: [{ name: "t", inputSchemaJson: '{"type":"object"}' }],
            toolChoice: ToolChoice.NAMED,
            toolName: "t",
            responseSchemaJson: '{"type":"object"}',
          },
          sampling: { temperature: 0.1 + 0.2, maxOutputTokens: 20n, reasoningEffort: "high" },
        },
      ),
    );
    const [request] = fake.requests;
    expect(request?.path).toBe("/v1/responses");
    expect(request?.text).toContain('"temperature":0.30000000000000004');
    expect(request?.body).toEqual({
      model: "m",
      input: [
        { type: "message", role: "developer", content: [{ type: "input_text", text: "be brief" }] },
        {
          type: "message",
          role: "user",
          content: [
            { type: "input_text", text: "look" },
            { type: "input_image", image_url: "data:image/png;base64,aGk=", detail: "auto" },
          ],
        },
        // Sealed by another provider: of no use here.
        { type: "reasoning", id: "rs_r", summary: [{ type: "summary_text", text: "hm" }] },
        { type: "function_call", call_id: "a", name: "t", arguments: '{ "x":1 }' },
        { type: "function_call_output", call_id: "a", output: "42" },
        {
          type: "message",
          role: "assistant",
          content: [{ type: "output_text", text: "so", annotations: [] }],
        },
        { type: "message", role: "assistant", content: [{ type: "refusal", refusal: "no" }] },
        { type: "web_search_call", id: "ws_1" },
      ],
      tools: [{ type: "function", name: "t", parameters: { type: "object" } }],
      tool_choice: { type: "function", name: "t" },
      text: { format: { type: "json_schema", name: "answer", schema: { type: "object" }, strict: true } },
      temperature: 0.30000000000000004,
      reasoning: { effort: "high" },
      max_output_tokens: 20,
      store: false,
      include: ["reasoning.encrypted_content"],
    });
  });

  it("has no parameter that the API lacks unless the upstream is said to take it", async () => {
    await using fake = await FakeOpenai.start((_request, response) =>
      sendJson(response, responsesAnswer([said("ok")])),
    );
    await using served = await serveOver(fake);
    for (const [sampling, field] of [
      [{ stop: ["x"] }, "stop"],
      [{ seed: 1n }, "seed"],
      [{ topK: 1 }, "top_k"],
      [{ presencePenalty: 0 }, "presence_penalty"],
    ] as const) {
      const { error } = await served.generate(ask([user("x")], { sampling: { ...sampling } as never }));
      expect(error).toMatchObject({ reason: "INVALID_FIELD", fields: [`sampling.${field}`] });
    }
    const several = await served.generate(ask([user("x")], { choiceCount: 2 }));
    expect(several.error).toMatchObject({ reason: "INVALID_FIELD", fields: ["choice_count"] });
    expect(fake.requests).toEqual([]);
    await using extended = await serveOver(fake, { sampling_extensions: true });
    await extended.answer(ask([user("x")], { sampling: { stop: ["x"], seed: 9_007_199_254_740_993n } }));
    expect(fake.requests[0]?.text).toContain('"seed":9007199254740993');
    expect(fake.requests[0]?.body).toMatchObject({ stop: ["x"] });
  });
});

describe("what Responses answers", () => {
  const entries: readonly [string, Json, string][] = [
    ["text", said("hi"), "chatMessage"],
    [
      "text with what it cites",
      {
        ...said("hi"),
        phase: "final_answer",
        content: [
          {
            type: "output_text",
            text: "hi",
            annotations: [{ type: "url_citation", url: "https://h" }],
            logprobs: [],
          },
        ],
      },
      "chatMessage",
    ],
    ["a refusal", { ...said(""), content: [{ type: "refusal", refusal: "no", odd: 1 }] }, "chatMessage"],
    [
      "a message that is partly a refusal",
      {
        ...said(""),
        content: [
          { type: "output_text", text: "well", annotations: [] },
          { type: "refusal", refusal: "no" },
        ],
      },
      "opaque",
    ],
    [
      "a call",
      {
        type: "function_call",
        id: "fc_1",
        call_id: "a",
        name: "t",
        namespace: "mcp__env",
        arguments: '{ "x":\t1.0 }',
        status: "completed",
      },
      "toolCall",
    ],
    [
      "sealed reasoning",
      {
        type: "reasoning",
        id: "rs_1",
        summary: [{ type: "summary_text", text: "hm" }],
        encrypted_content: "gAAAA==",
        status: null,
      },
      "reasoning",
    ],
    [
      "open reasoning",
      { type: "reasoning", id: "rs_1", summary: [], content: [{ type: "reasoning_text", text: "hm hm" }] },
      "reasoning",
    ],
    [
      "something else",
      { type: "web_search_call", id: "ws_1", status: "completed", action: { type: "search", query: "q" } },
      "opaque",
    ],
  ];

  it.each(entries)("goes back as it came: %s (ALL-DATA-006)", async (_what, entry, kind) => {
    await using fake = await FakeOpenai.start((_request, response, number) =>
      sendJson(response, responsesAnswer([number === 0 ? entry : said("ok")])),
    );
    await using served = await serveOver(fake);
    const items = (await served.answer(ask([user("x")]))).choices[0]?.items ?? [];
    expect(items.map((item) => item.kind.case)).toEqual([kind]);
    const passedOn = items.map((item, i) => ({ ...item, itemId: `mine-${i}`, agentId: "agent" }));
    await served.answer(ask([user("x"), ...passedOn, user("and?")]));
    expect(fake.entry(1, "input", 1)).toEqual(entry);
  });

  it.each<[string, Json[], Json, FinishReason]>([
    ["completed", [said("x")], {}, FinishReason.STOP],
    [
      "a call",
      [{ type: "function_call", call_id: "a", name: "t", arguments: "{}" }],
      {},
      FinishReason.TOOL_CALLS,
    ],
    ["a refusal", [{ ...said(""), content: [{ type: "refusal", refusal: "no" }] }], {}, FinishReason.REFUSAL],
    [
      "the limit",
      [said("x")],
      { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } },
      FinishReason.LENGTH,
    ],
    [
      "the context",
      [said("x")],
      {
        status: "incomplete",
        incomplete_details: { reason: "max_output_tokens" },
        usage: { input_tokens: 250, output_tokens: 6 },
      },
      FinishReason.CONTEXT_LENGTH,
    ],
    [
      "a filter",
      [said("x")],
      { status: "incomplete", incomplete_details: { reason: "content_filter" } },
      FinishReason.CONTENT_FILTER,
    ],
  ])("ended by %s", async (_what, output, change, finish) => {
    await using fake = await FakeOpenai.start((_request, response) =>
      sendJson(response, responsesAnswer(output, change)),
    );
    await using served = await serveOver(fake, { context_tokens: 256 });
    expect((await served.answer(ask([user("x")]))).choices[0]?.finishReason).toBe(finish);
  });

  it("tells usage with its details, and a call that the limit cut is incomplete (field-case-87)", async () => {
    const call = {
      type: "function_call",
      id: "fc",
      call_id: "a",
      name: "t",
      arguments: '{"pa',
      status: "incomplete",
    };
    await using fake = await FakeOpenai.start((_request, response) =>
      sendJson(
        response,
        responsesAnswer([call], {
          status: "incomplete",
          incomplete_details: { reason: "max_output_tokens" },
        }),
      ),
    );
    await using served = await serveOver(fake);
    const answer = await served.answer(ask([user("x")]));
    expect(answer.usage).toMatchObject({
      inputTokens: 10n,
      cachedInputTokens: 4n,
      outputTokens: 5n,
      reasoningTokens: 2n,
    });
    expect(answer.choices[0]?.items[0]?.kind).toMatchObject({
      case: "toolCall",
      value: { incomplete: true },
    });
  });

  it.each<[string, Json, FailureKind]>([
    [
      "that failed",
      { status: "failed", error: { code: "server_error", message: "words" } },
      FailureKind.MODEL_UNAVAILABLE,
    ],
    ["that is still to come", { status: "queued" }, FailureKind.MODEL_INVALID_OUTPUT],
    ["without usage", { usage: null }, FailureKind.MODEL_INVALID_OUTPUT],
    ["without output", { output: undefined }, FailureKind.MODEL_INVALID_OUTPUT],
    ["cut for no reason", { status: "incomplete" }, FailureKind.MODEL_INVALID_OUTPUT],
  ])("an answer %s is a failure", async (_what, change, kind) => {
    await using fake = await FakeOpenai.start((_request, response) =>
      sendJson(response, responsesAnswer([said("x")], change)),
    );
    await using served = await serveOver(fake);
    const { error } = await served.generate(ask([user("x")]));
    expect(error?.failure?.kind).toBe(kind);
    expect(error?.failure?.reason).not.toContain("words");
  });

  it("an over-long prompt is an answer, by status and by a failed response (MDL-GEN-003)", async () => {
    await using fake = await FakeOpenai.start((_request, response, number) =>
      number === 0
        ? sendError(response, 400, { code: "context_length_exceeded" })
        : sendJson(
            response,
            responsesAnswer([], {
              status: "failed",
              error: { code: "context_length_exceeded", message: "" },
            }),
          ),
    );
    await using served = await serveOver(fake);
    for (let i = 0; i < 2; i += 1) {
      const answer = await served.answer(ask([user("x")]));
      expect(answer.choices).toMatchObject([{ items: [], finishReason: FinishReason.CONTEXT_LENGTH }]);
    }
  });
});

describe("a stream of Responses", () => {
  const output: Json[] = [
    { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "in short" }] },
    said("so it is"),
    {
      type: "function_call",
      id: "fc_1",
      call_id: "a",
      name: "t",
      arguments: '{"x": 1}',
      status: "completed",
    },
  ];
  const events = (last: Json): Json[] => [
    { type: "response.created", response: responsesAnswer([], { status: "in_progress" }) },
    {
      type: "response.output_item.added",
      output_index: 0,
      item: { type: "reasoning", id: "rs_1", summary: [] },
    },
    {
      type: "response.reasoning_summary_text.delta",
      output_index: 0,
      item_id: "rs_1",
      summary_index: 0,
      delta: "in short",
    },
    { type: "response.output_item.done", output_index: 0, item: output[0] },
    { type: "response.output_text.delta", output_index: 1, content_index: 0, item_id: "msg_1", delta: "so " },
    {
      type: "response.output_text.delta",
      output_index: 1,
      content_index: 0,
      item_id: "msg_1",
      delta: "it is",
    },
    { type: "response.output_item.done", output_index: 1, item: output[1] },
    { type: "response.function_call_arguments.delta", output_index: 2, item_id: "fc_1", delta: '{"x"' },
    { type: "response.function_call_arguments.delta", output_index: 2, item_id: "fc_1", delta: ": 1}" },
    { type: "response.output_item.done", output_index: 2, item: output[2] },
    last,
  ];

  it.each([
    ["in its last event", responsesAnswer(output)],
    ["in pieces, the last event leaving them out", responsesAnswer([])],
  ])("gives pieces and the whole answer, which comes %s (MDL-GEN-009)", async (_how, response) => {
    await using fake = await FakeOpenai.start(({ body }, sent) =>
      body["stream"] === true
        ? sendEvents(sent, events({ type: "response.completed", response }))
        : sendJson(sent, responsesAnswer(output)),
    );
    await using served = await serveOver(fake);
    const { messages, error } = await served.stream(ask([user("x")]));
    expect(error).toBeUndefined();
    const sums = new Map<string, string>();
    for (const { event } of messages) {
      if (event.case !== "delta") continue;
      const name = event.value.delta?.piece.case ?? "";
      sums.set(name, (sums.get(name) ?? "") + (event.value.delta?.piece.value ?? ""));
    }
    expect(Object.fromEntries(sums)).toEqual({
      reasoning: "in short",
      text: "so it is",
      argumentsJson: '{"x": 1}',
    });
    const last = messages.at(-1)?.event;
    const unary = await served.answer(ask([user("x")]));
    const kinds = (items: typeof unary.choices) =>
      items.map((choice) => choice.items.map(({ kind, extraJson }) => [kind, extraJson]));
    expect(last?.case === "completed" ? kinds(last.value.choices) : []).toEqual(kinds(unary.choices));
    expect(last?.case === "completed" ? last.value.choices[0]?.finishReason : 0).toBe(
      FinishReason.TOOL_CALLS,
    );
  });

  it.each<[string, Json[], RegExp]>([
    [
      "ends early",
      [{ type: "response.output_text.delta", output_index: 0, delta: "half" }],
      /before its answer was whole/,
    ],
    [
      "ends in an error",
      [{ type: "error", code: "server_error", message: "words" }],
      /in the middle of its answer, server_error/,
    ],
    [
      "ends in a failure",
      [
        {
          type: "response.failed",
          response: responsesAnswer([], {
            status: "failed",
            error: { code: "rate_limit_exceeded", message: "words" },
          }),
        },
      ],
      /rate_limit_exceeded/,
    ],
  ])("that %s is a failure", async (_how, sent, reason) => {
    await using fake = await FakeOpenai.start((_request, response) => sendEvents(response, sent));
    await using served = await serveOver(fake);
    const { error } = await served.stream(ask([user("x")]));
    expect(error?.failure?.kind).toBe(FailureKind.MODEL_UNAVAILABLE);
    expect(error?.failure?.reason).toMatch(reason);
    expect(error?.failure?.reason).not.toContain("words");
  });
});

describe("CountTokens", () => {
  it("asks the upstream to count (MDL-GEN-008)", async () => {
    await using fake = await FakeOpenai.start((_request, response) =>
      sendJson(response, { object: "response.input_tokens", input_tokens: 17 }),
    );
    await using served = await serveOver(fake);
    const { message } = await served.client.unary(method.countTokens, {
      prompt: { items: [user("x")], tools: [{ name: "t" }] },
    });
    expect(message?.inputTokens).toBe(17n);
    expect(fake.requests[0]).toMatchObject({
      path: "/v1/responses/input_tokens",
      body: { model: "m", input: [{}], tools: [{ name: "t" }] },
    });
  });
});
