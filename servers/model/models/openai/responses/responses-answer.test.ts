import { describe, expect, it } from "vitest";
import { FailureKind, FinishReason } from "../../../../../gen/index.js";
import { FakeOpenai, responsesAnswer, sendError, sendJson } from "../../../fixtures/fake-openai.js";
import { ask, user } from "../../../fixtures/served-model.js";
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
