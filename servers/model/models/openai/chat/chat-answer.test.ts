import { describe, expect, it } from "vitest";
import { FailureKind, FinishReason } from "../../../../../gen/index.js";
import { completion, FakeOpenai, sendError, sendJson } from "../../../fixtures/fake-openai.js";
import { ask, method, user } from "../../../fixtures/served-model.js";
import { serveOpenai } from "../../../fixtures/served-openai.js";

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
    await using served = await serveOpenai(fake);
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
    await using served = await serveOpenai(fake);
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
    await using served = await serveOpenai(fake);
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
    await using served = await serveOpenai(fake);
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
    await using served = await serveOpenai(fake, { context_tokens: 256 });
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
    await using served = await serveOpenai(fake, { context_tokens: 256 });
    const answer = await served.answer(ask([user("x")], { sampling: { maxOutputTokens: 50n } }));
    expect(fake.requests).toHaveLength(2);
    expect(answer).toMatchObject({
      choices: [{ finishReason: FinishReason.CONTEXT_LENGTH, items: [{}] }],
      usage: { inputTokens: 255n, outputTokens: 1n },
    });
  });

  it.each([
    ["the context, where fewer came than allowed", 255, 1, FinishReason.CONTEXT_LENGTH],
    ["the limit, where as many came", 206, 50, FinishReason.LENGTH],
    ["a bound of the upstream, where neither is full", 10, 20, FinishReason.LENGTH],
  ])("an answer that was cut was cut by %s", async (_what, input, output, finish) => {
    await using fake = await FakeOpenai.start((_request, response) =>
      sendJson(
        response,
        completion(
          {},
          {
            choices: [{ index: 0, message: { content: "a" }, finish_reason: "length" }],
            usage: { prompt_tokens: input, completion_tokens: output },
          },
        ),
      ),
    );
    await using served = await serveOpenai(fake, { context_tokens: 256 });
    const answer = await served.answer(ask([user("x")], { sampling: { maxOutputTokens: 50n } }));
    expect(answer.choices[0]?.finishReason).toBe(finish);
  });

  it("a filter that takes the prompt is an answer as well", async () => {
    await using fake = await FakeOpenai.start((_request, response) =>
      sendError(response, 400, { code: "content_filter" }),
    );
    await using served = await serveOpenai(fake);
    const answer = await served.answer(ask([user("x")]));
    expect(answer.choices).toMatchObject([{ items: [], finishReason: FinishReason.CONTENT_FILTER }]);
  });
});
