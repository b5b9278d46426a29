import { describe, expect, it } from "vitest";
import { FinishReason } from "../../../../../gen/index.js";
import { completion, FakeOpenai, sendChunks, sendJson } from "../../../fixtures/fake-openai.js";
import { ask, user } from "../../../fixtures/served-model.js";
import { serveOpenai } from "../../../fixtures/served-openai.js";

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
    await using served = await serveOpenai(fake);
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
    await using served = await serveOpenai(fake);
    const { messages } = await served.stream(ask([user("x")], { choiceCount: 2 }));
    const last = messages.at(-1)?.event;
    const choices = last?.case === "completed" ? last.value.choices : [];
    expect(choices.map(({ items, finishReason }) => [items[0]?.kind.value, finishReason])).toMatchObject([
      [{ content: [{ kind: { value: "a1a2" } }] }, FinishReason.STOP],
      [{ content: [{ kind: { value: "b1b2" } }] }, FinishReason.LENGTH],
    ]);
  });
});
