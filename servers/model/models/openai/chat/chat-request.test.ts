import { describe, expect, it } from "vitest";
import { Role, ToolChoice } from "../../../../../gen/index.js";
import { completion, FakeOpenai, sendJson } from "../../../fixtures/fake-openai.js";
import { ask, method, toolResultOf, user } from "../../../fixtures/served-model.js";
import { type OpenaiChange, serveOpenai } from "../../../fixtures/served-openai.js";

/** The body of the only request of a call with this prompt. */
async function bodyOf(
  request: Parameters<typeof ask>,
  options: OpenaiChange = {},
): Promise<Record<string, unknown>> {
  await using fake = await FakeOpenai.start((_request, response) =>
    sendJson(response, completion({ content: "ok" })),
  );
  await using served = await serveOpenai(fake, options);
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
    await using served = await serveOpenai(fake);
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
    await using served = await serveOpenai(fake, { max_output_tokens: 100 });
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

  it("has its limit under the older name where the upstream knows only that", async () => {
    const body = await bodyOf([[user("x")], { sampling: { maxOutputTokens: 7n } }], {
      max_tokens_field: "max_tokens",
    });
    expect(body).toMatchObject({ max_tokens: 7 });
    expect(body).not.toHaveProperty("max_completion_tokens");
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
    await using served = await serveOpenai(fake);
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

describe("CountTokens", () => {
  it("asks for one token and answers what the prompt had (MDL-GEN-008)", async () => {
    await using fake = await FakeOpenai.start((_request, response) =>
      sendJson(response, completion({ content: "x" })),
    );
    await using served = await serveOpenai(fake);
    const tools = [{ name: "t" }];
    const { message } = await served.client.unary(method.countTokens, {
      prompt: { items: [user("x")], tools },
    });
    expect(message?.inputTokens).toBe(10n);
    expect(fake.requests[0]?.body).toMatchObject({ max_completion_tokens: 1, tools: [{ type: "function" }] });
  });
});
