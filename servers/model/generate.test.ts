import { describe, expect, it } from "vitest";
import { FailureKind, FinishReason, Retry, Role, ToolChoice } from "../../gen/index.js";
import { OperationFailure } from "../runtime/failure.js";
import { assistantMessage, toolCallItem, userMessage } from "../runtime/items.js";
import type { Generated } from "./define-model.js";
import { answering, GatedModel, saying } from "./fixtures/gated-model.js";
import { ask, assistant, method, ServedModel, toolResultOf, user } from "./fixtures/served-model.js";

const plain = { tokens: undefined as never, maxChoices: 1 };
const tool = (name: string) => ({ name, inputSchemaJson: '{"type":"object"}' });
const call = (callId: string) => ({
  kind: { case: "toolCall" as const, value: { callId, name: "t", argumentsJson: "{}" } },
});

describe("a request that the model cannot be asked", () => {
  const refused: readonly [
    string,
    Parameters<typeof ask>,
    { reason: string; field?: string; feature?: string },
  ][] = [
    ["no items", [[]], { reason: "INVALID_FIELD", field: "prompt.items" }],
    [
      "temperature below 0",
      [[user("x")], { sampling: { temperature: -1 } }],
      { reason: "INVALID_FIELD", field: "sampling.temperature" },
    ],
    [
      "top_p above 1",
      [[user("x")], { sampling: { topP: 2 } }],
      { reason: "INVALID_FIELD", field: "sampling.top_p" },
    ],
    [
      "a penalty that is no number",
      [[user("x")], { sampling: { presencePenalty: Number.NaN } }],
      { reason: "INVALID_FIELD", field: "sampling.presence_penalty" },
    ],
    ["0 choices", [[user("x")], { choiceCount: 0 }], { reason: "INVALID_FIELD", field: "choice_count" }],
    [
      "more choices than declared",
      [[user("x")], { choiceCount: 2 }],
      { reason: "INVALID_FIELD", field: "choice_count" },
    ],
    [
      "token ids without the feature",
      [[user("x")], { wantTokenIds: true }],
      { reason: "FEATURE_UNSUPPORTED", feature: "TOKEN_IDS" },
    ],
    [
      "log-probs without the feature",
      [[user("x")], { wantLogprobs: true }],
      { reason: "FEATURE_UNSUPPORTED", feature: "LOGPROBS" },
    ],
    [
      "a result without its call (MDL-TOOL-002)",
      [[user("x"), toolResultOf("c9", "r")]],
      { reason: "INVALID_FIELD", field: "prompt.items[1].tool_result.call_id" },
    ],
    [
      "a result before its call",
      [[toolResultOf("c1", "r"), call("c1")]],
      { reason: "INVALID_FIELD", field: "prompt.items[0].tool_result.call_id" },
    ],
    [
      "two calls of one id",
      [[call("c1"), call("c1")]],
      { reason: "INVALID_FIELD", field: "prompt.items[1].tool_call.call_id" },
    ],
    [
      "a message of no role",
      [[{ kind: { case: "chatMessage", value: {} } }]],
      { reason: "INVALID_FIELD", field: "prompt.items[0].chat_message.role" },
    ],
    [
      "two tools of one name",
      [[user("x")], { prompt: { tools: [tool("t"), tool("t")] } }],
      { reason: "INVALID_FIELD", field: "prompt.tools[1].name" },
    ],
    [
      "a schema that is no JSON",
      [[user("x")], { prompt: { tools: [{ name: "t", inputSchemaJson: "{" }] } }],
      { reason: "INVALID_FIELD", field: "prompt.tools[0].input_schema_json" },
    ],
    [
      "a named tool that is not there",
      [[user("x")], { prompt: { tools: [tool("t")], toolChoice: ToolChoice.NAMED, toolName: "u" } }],
      { reason: "INVALID_FIELD", field: "prompt.tool_name" },
    ],
    [
      "a required tool without tools",
      [[user("x")], { prompt: { toolChoice: ToolChoice.REQUIRED } }],
      { reason: "INVALID_FIELD", field: "prompt.tool_choice" },
    ],
    [
      "an unknown tool choice",
      [[user("x")], { prompt: { toolChoice: 77 as ToolChoice } }],
      { reason: "UNKNOWN_ENUM", field: "prompt.tool_choice" },
    ],
    [
      "a response schema that is no object",
      [[user("x")], { prompt: { responseSchemaJson: "[]" } }],
      { reason: "INVALID_FIELD", field: "prompt.response_schema_json" },
    ],
    [
      "a blob by digest (ALL-BLOB-007)",
      [
        [
          {
            kind: {
              case: "chatMessage",
              value: {
                role: Role.USER,
                content: [{ kind: { case: "blobRef", value: { sha256: new Uint8Array(32) } } }],
              },
            },
          },
        ],
      ],
      { reason: "INVALID_FIELD", field: "prompt.items[0].chat_message.content[0].blob_ref" },
    ],
    [
      "a blob that the model cannot read",
      [
        [
          call("c"),
          {
            kind: {
              case: "toolResult",
              value: {
                callId: "c",
                content: [{ kind: { case: "text", value: "x" } }, { kind: { case: "blob", value: {} } }],
              },
            },
          },
        ],
      ],
      { reason: "INVALID_FIELD", field: "prompt.items[1].tool_result.content[1].blob" },
    ],
    [
      "a prefix without the feature",
      [[user("x")], { prompt: { prefixItems: 1, prefixTokenIds: new Uint8Array(4) } }],
      { reason: "FEATURE_UNSUPPORTED", feature: "TOKEN_IDS" },
    ],
  ];

  it.each(refused)(
    "is refused by name: %s (MDL-GEN-010)",
    async (_what, request, { reason, field, feature }) => {
      let asked = 0;
      const model = answering(() => {
        asked += 1;
        return saying("x");
      }, plain);
      await using served = await ServedModel.start(model);
      const unary = await served.generate(ask(...request));
      expect(unary.error).toMatchObject({ reason, failure: undefined });
      if (field !== undefined) expect(unary.error?.fields).toContain(field);
      if (feature !== undefined) expect(unary.error?.metadata).toMatchObject({ feature });
      const streamed = await served.stream(ask(...request));
      expect(streamed.error).toMatchObject({ reason });
      if (field !== undefined) expect(streamed.error?.fields).toContain(`request.${field}`);
      expect(streamed.messages).toEqual([]);
      expect(asked).toBe(0);
    },
  );

  it.each([
    [
      "prefix_items beyond the items",
      { prefixItems: 3, prefixTokenIds: new Uint8Array(4) },
      "prompt.prefix_items",
    ],
    ["prefix_items without ids", { prefixItems: 1 }, "prompt.prefix_token_ids"],
    ["ids without prefix_items", { prefixTokenIds: new Uint8Array(4) }, "prompt.prefix_items"],
    ["half an id", { prefixItems: 1, prefixTokenIds: new Uint8Array(6) }, "prompt.prefix_token_ids"],
  ])("is refused by name: %s", async (_what, prompt, field) => {
    await using served = await ServedModel.start(answering(() => saying("x")));
    const { error } = await served.generate(ask([user("x")], { prompt }));
    expect(error).toMatchObject({ reason: "INVALID_FIELD", fields: [field] });
  });

  it("refuses in CountTokens what Generate would", async () => {
    await using served = await ServedModel.start(answering(() => saying("x"), plain));
    const { error } = await served.client.unary(method.countTokens, {
      prompt: { items: [toolResultOf("c", "r")] },
    });
    expect(error).toMatchObject({ reason: "INVALID_FIELD", fields: ["prompt.items[0].tool_result.call_id"] });
  });
});

describe("a model's answer", () => {
  const usage = { inputTokens: 1n };
  const choice = { items: [assistantMessage("x")], finishReason: FinishReason.STOP };
  const callOf = (callId: string) =>
    toolCallItem({
      $typeName: "touchstone.v1.ToolCall",
      callId,
      name: "t",
      argumentsJson: "",
      incomplete: false,
    });
  const wrong: readonly [string, Generated, RegExp][] = [
    ["no choice (MDL-GEN-001)", { choices: [], usage }, /answered 0 choices, 1 were asked/],
    [
      "two choices for one (MDL-GEN-004)",
      { choices: [choice, choice], usage },
      /answered 2 choices, 1 were asked/,
    ],
    ["no finish reason", { choices: [{ items: choice.items }], usage }, /does not tell why it ended/],
    [
      "an unknown finish reason",
      { choices: [{ ...choice, finishReason: 99 as FinishReason }], usage },
      /does not tell why/,
    ],
    ["a user's message", { choices: [{ ...choice, items: [userMessage("x")] }], usage }, /role USER/],
    [
      "a tool call without an id (MDL-TOOL-001)",
      { choices: [{ ...choice, items: [callOf("")] }], usage },
      /has 0 bytes/,
    ],
    [
      "two tool calls of one id",
      { choices: [{ ...choice, items: [callOf("a"), callOf("a")] }], usage },
      /an earlier tool call has/,
    ],
    [
      "the id of a call in the prompt",
      { choices: [{ ...choice, items: [callOf("c1")] }], usage },
      /an earlier tool call has/,
    ],
    ["no usage (MDL-GEN-007)", { choices: [choice], usage: {} }, /how many tokens the prompt has/],
  ];

  it.each(wrong)("with %s is a typed failure", async (_what, generated, reason) => {
    await using served = await ServedModel.start(answering(() => generated));
    const { error } = await served.generate(ask([user("x"), call("c1")]));
    expect(error).toMatchObject({
      code: "ABORTED",
      reason: "OPERATION_FAILED",
      failure: { kind: FailureKind.MODEL_INVALID_OUTPUT, retry: Retry.NEW_ATTEMPT },
    });
    expect(error?.failure?.reason).toMatch(reason);
  });

  it("is answered whole, its items with ids; an over-long prompt needs no usage (MDL-GEN-003)", async () => {
    await using served = await ServedModel.start(
      answering(({ choiceCount }) =>
        choiceCount === 1
          ? { choices: [{ finishReason: FinishReason.CONTEXT_LENGTH }], usage: {} }
          : {
              choices: Array.from({ length: choiceCount }, (_, i) => ({
                items: [callOf(`c${i}`)],
                finishReason: i === 0 ? FinishReason.STOP : FinishReason.LENGTH,
              })),
              usage: { inputTokens: 4n, outputTokens: 5n, modelCalls: 9 },
              weightsVersion: "8",
            },
      ),
    );
    const long = await served.answer(ask([user("x")]));
    expect(long.choices).toMatchObject([{ items: [], finishReason: FinishReason.CONTEXT_LENGTH }]);
    const three = await served.answer(ask([user("x")], { choiceCount: 3 }));
    expect(three.choices.map(({ index, finishReason }) => [index, finishReason])).toEqual([
      [0, FinishReason.STOP],
      [1, FinishReason.LENGTH],
      [2, FinishReason.LENGTH],
    ]);
    const ids = three.choices.flatMap(({ items }) => items.map(({ itemId }) => itemId));
    expect(new Set(ids).size).toBe(3);
    expect(ids).not.toContain("");
    expect(three).toMatchObject({
      weightsVersion: "8",
      usage: { inputTokens: 4n, outputTokens: 5n, modelCalls: 1 },
    });
    expect(three.callId).not.toBe(long.callId);
  });

  it("that is longer than its limit is a typed failure: the limit is hard (MDL-GEN-002)", async () => {
    await using served = await ServedModel.start(answering(() => saying("x")));
    const at = (maxOutputTokens: bigint) =>
      served.generate(ask([user("x")], { sampling: { maxOutputTokens } }));
    expect((await at(2n)).error).toBeUndefined();
    expect((await at(1n)).error?.failure?.reason).toBe(
      "choice 0 has 2 output tokens; at most 1 were asked for",
    );
  });

  it("that could not be delivered is a failure that tells limit and size (R11)", async () => {
    await using served = await ServedModel.start(answering(() => saying("x".repeat(5 << 20))));
    const { error } = await served.generate(ask([user("x")]));
    expect(error?.failure).toMatchObject({ kind: FailureKind.MODEL_INVALID_OUTPUT, retry: Retry.NEVER });
    expect(error?.failure?.reason).toContain(String((4 << 20) - 16));
  });
});

describe("a call that fails", () => {
  it("says what the model says, and nothing of what nobody foresaw (ALL-FAIL-003)", async () => {
    await using served = await ServedModel.start(
      answering(({ agentId }) => {
        throw agentId === "told"
          ? new OperationFailure({ kind: FailureKind.MODEL_UNAVAILABLE, retry: Retry.NEVER, reason: "told" })
          : new Error("secret of /etc/passwd");
      }),
    );
    const told = await served.generate(ask([user("x")], { agentId: "told" }));
    expect(told.error).toMatchObject({
      code: "INTERNAL",
      reason: "OPERATION_FAILED",
      failure: { reason: "told" },
    });
    const unexpected = await served.generate(ask([user("x")]));
    expect(unexpected.error).toMatchObject({
      code: "INTERNAL",
      reason: "OPERATION_FAILED",
      failure: { kind: FailureKind.INTERNAL },
    });
    expect(JSON.stringify(unexpected.error)).not.toContain("passwd");
  });

  it("by its caller's leaving ends at the model at once (MDL-GEN-012)", async () => {
    const model = new GatedModel();
    await using served = await ServedModel.start(model.definition);
    let cancel: () => void = () => {};
    const onCall = (made: { cancel(): void }) => {
      cancel = () => made.cancel();
    };
    const unary = served.generate(ask([user("x")]), { onCall });
    await model.reached(1);
    cancel();
    await model.left(1);
    expect((await unary).error?.code).toBe("CANCELLED");
    const streamed = served.stream(ask([user("x")]), { onCall });
    await model.reached(2);
    cancel();
    await model.left(2);
    expect((await streamed).error?.code).toBe("CANCELLED");
    const late = served.generate(ask([user("x")]), { deadlineMs: 300 });
    await model.reached(3);
    expect(model.calls[2]?.timeLeftMs()).toBeLessThanOrEqual(300);
    await model.left(3);
    expect((await late).error?.code).toBe("DEADLINE_EXCEEDED");
  });
});

describe("doubles and 64-bit numbers", () => {
  it("reach the model exactly (MDL-GEN-013, field-case-8)", async () => {
    let seen: unknown;
    await using served = await ServedModel.start(
      answering(({ sampling }) => {
        seen = sampling;
        return saying("x");
      }),
    );
    await served.answer(
      ask([user("x"), assistant("y")], {
        sampling: { temperature: 0.1 + 0.2, minP: 5e-324, seed: 9_223_372_036_854_775_807n },
      }),
    );
    expect(seen).toMatchObject({
      temperature: 0.30000000000000004,
      minP: 5e-324,
      seed: 9223372036854775807n,
    });
  });
});
