import { describe, expect, it } from "vitest";
import { FailureKind, FinishReason } from "../../../../../gen/index.js";
import { FakeOpenai, responsesAnswer, sendEvents, sendJson } from "../../../fixtures/fake-openai.js";
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
