import { describe, expect, it } from "vitest";
import { Role, ToolChoice } from "../../../../../gen/index.js";
import { FakeOpenai, responsesAnswer, sendJson } from "../../../fixtures/fake-openai.js";
import { ask, method, toolResultOf, user } from "../../../fixtures/served-model.js";
import { type OpenaiChange, serveOpenai } from "../../../fixtures/served-openai.js";

type Json = Record<string, unknown>;

const serveOver = (fake: FakeOpenai, options: OpenaiChange = {}) =>
  serveOpenai(fake, { api: "responses", ...options });

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
      tools: [{ type: "function", name: "t", parameters: { type: "object" }, strict: false }],
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
