import { create } from "@bufbuild/protobuf";
import {
  Feature,
  FinishReason,
  type GenerateResponse,
  type Item,
  ItemSchema,
  type Prompt,
  Role,
  ToolResultSchema,
} from "../../../gen/index.js";
import { type ModelTrial, modelCheck } from "./model-trial.js";

const finishes: readonly FinishReason[] = [
  FinishReason.STOP,
  FinishReason.LENGTH,
  FinishReason.TOOL_CALLS,
  FinishReason.REFUSAL,
  FinishReason.CONTENT_FILTER,
];
const bytesOfId = 4;
/** An over-long prompt is made of pieces of this many characters, each more than one token. */
const pieceCharacters = 4_000;

/** Tokens of the first choice: by their ids where there are some, else as usage tells. */
function outputTokens({ choices, usage }: GenerateResponse): number | undefined {
  const ids = choices[0]?.tokens?.outputTokenIds;
  return ids === undefined ? Number(usage?.outputTokens ?? Number.NaN) : ids.byteLength / bytesOfId;
}

/** All text of some items, the one behind the other. */
function textOf(items: readonly Item[]): string {
  return items
    .flatMap(({ kind }) => (kind.case === "chatMessage" ? kind.value.content : []))
    .map(({ kind }) => (kind.case === "text" ? kind.value : ""))
    .join("");
}

function toolCallsOf(answer: GenerateResponse) {
  return answer.choices
    .flatMap(({ items }) => items)
    .flatMap(({ kind }) => (kind.case === "toolCall" ? [kind.value] : []));
}

function lengthened(t: ModelTrial, characters: number): Prompt {
  const prompt = t.prompt();
  const chat = prompt.items.find(({ kind }) => kind.case === "chatMessage");
  const role = chat?.kind.case === "chatMessage" ? chat.kind.value.role : Role.USER;
  const content = Array.from({ length: Math.ceil(characters / pieceCharacters) }, () => ({
    kind: { case: "text" as const, value: "long words ".repeat(pieceCharacters / 11) },
  }));
  prompt.items.push(create(ItemSchema, { kind: { case: "chatMessage", value: { role, content } } }));
  return prompt;
}

/** Describe, Generate, CountTokens. */
export const generateChecks = [
  modelCheck(
    {
      clause: "MDL-DESC-001",
      name: "declared",
      title: "model, weights version, context length and features are declared.",
    },
    async (t) => {
      const { model, weightsVersion, contextTokens, service } = t.described;
      t.judge.differ("model", model, "");
      t.judge.differ("weights_version", weightsVersion, "");
      t.judge.that("context_tokens", contextTokens > 0n, { expected: "above 0", actual: contextTokens });
      t.judge.that("service", service !== undefined, { expected: "to be there", actual: "nothing" });
    },
  ),
  modelCheck(
    {
      clause: "MDL-GEN-001",
      name: "finish-reason",
      title: "Generate answers at least one choice with a finish reason.",
      stacks: ["connect-node", "grpc-js"],
    },
    async (t) => {
      const { choices } = await t.generate();
      t.judge.each("choices", choices, ({ finishReason }) =>
        t.judge.that("finish_reason", finishes.includes(finishReason), {
          expected: "one of an answer",
          actual: FinishReason[finishReason] ?? finishReason,
        }),
      );
    },
  ),
  modelCheck(
    {
      clause: "MDL-GEN-002",
      name: "hard-limit",
      title: "with a limit of 1 and of 3 tokens at most so many come, and the finish is LENGTH.",
    },
    async (t) => {
      for (const limit of [1, 3]) {
        const answer = await t.generate({
          sampling: { maxOutputTokens: BigInt(limit) },
          wantTokenIds: t.has(Feature.TOKEN_IDS),
        });
        const count = outputTokens(answer);
        t.judge.that(`tokens with a limit of ${limit}`, count !== undefined && count <= limit, {
          expected: `${limit} at most`,
          actual: count,
        });
        t.judge.equal(
          `the finish with a limit of ${limit}`,
          answer.choices[0]?.finishReason,
          FinishReason.LENGTH,
        );
      }
    },
  ),
  modelCheck(
    {
      clause: "MDL-GEN-003",
      name: "over-long-prompt",
      title: "a prompt longer than the context is finish CONTEXT_LENGTH with no tokens.",
    },
    async (t) => {
      const { contextTokens, service } = t.described;
      const characters = Number(contextTokens) * 12;
      const limit = Number(service?.limits?.maxMessageBytes ?? 4_194_304n);
      if (characters > limit / 2) t.notApplicable("a prompt beyond its context is beyond its message limit");
      const { choices } = await t.generate({ prompt: lengthened(t, characters) });
      t.judge.each("choices", choices, ({ finishReason, items, tokens }) => {
        t.judge.equal("finish_reason", finishReason, FinishReason.CONTEXT_LENGTH);
        t.judge.equal("text that came", textOf(items), "");
        t.judge.equal("bytes of output ids", tokens?.outputTokenIds.byteLength ?? 0, 0);
      });
    },
  ),
  modelCheck(
    {
      clause: "MDL-GEN-004",
      name: "choices",
      title: "as many choices come as were asked for, each with its own finish.",
    },
    async (t) => {
      const count = Math.min(3, t.described.maxChoices || 1);
      if (count < 2) t.notApplicable("the subject gives one choice only (max_choices)");
      const { choices } = await t.generate({ choiceCount: count });
      t.judge.equal("choices", choices.length, count);
      t.judge.equal(
        "their indexes",
        choices.map(({ index }) => index),
        choices.map((_, at) => at),
      );
      t.judge.each("choices", choices, ({ finishReason }) =>
        t.judge.differ("finish_reason", finishReason, FinishReason.UNSPECIFIED),
      );
    },
  ),
  modelCheck(
    { clause: "MDL-GEN-005", name: "stop", title: "a stop string ends the text before itself." },
    async (t) => {
      const { prompt, stop } = t.may(t.fixture.stop, "model.stop");
      const free = textOf((await t.generate({ prompt })).choices[0]?.items ?? []);
      t.judge.that("the text without a stop string", free.indexOf(stop) > 0, {
        expected: `to hold ${JSON.stringify(stop)} behind other text`,
        actual: free,
      });
      const { choices } = await t.generate({ prompt, sampling: { stop: [stop] } });
      t.judge.equal("the text with it", textOf(choices[0]?.items ?? []), free.slice(0, free.indexOf(stop)));
      t.judge.equal("its finish", choices[0]?.finishReason, FinishReason.STOP);
    },
  ),
  modelCheck(
    { clause: "MDL-GEN-006", name: "seeded", title: "the same seed and sampling give the same text." },
    async (t) => {
      const sampling = { seed: 7n, temperature: 1 };
      const one = await t.generate({ sampling });
      const two = await t.generate({ sampling });
      t.judge.equal(
        "the second text",
        textOf(two.choices[0]?.items ?? []),
        textOf(one.choices[0]?.items ?? []),
      );
    },
  ),
  modelCheck(
    {
      clause: "MDL-GEN-007",
      name: "usage",
      title: "usage tells as many output tokens as there are ids, and as many input tokens as CountTokens.",
    },
    async (t) => {
      const answer = await t.generate({ wantTokenIds: t.has(Feature.TOKEN_IDS) });
      const counted = t.judge.answer("CountTokens", await t.calls.countTokens({ prompt: t.prompt() }));
      t.judge.equal("usage.input_tokens", answer.usage?.inputTokens, counted.inputTokens);
      const ids = answer.choices[0]?.tokens?.outputTokenIds;
      if (ids !== undefined) {
        t.judge.equal("usage.output_tokens", answer.usage?.outputTokens, BigInt(ids.byteLength / bytesOfId));
      }
    },
  ),
  modelCheck(
    {
      clause: "MDL-GEN-008",
      name: "count-tools",
      title: "CountTokens counts the prompt as Generate does, its tools included.",
    },
    async (t) => {
      const prompt = t.may(t.fixture.tool_call?.prompt, "model.tool_call.prompt");
      const counted = t.judge.answer("CountTokens", await t.calls.countTokens({ prompt }));
      const { usage } = await t.generate({ prompt });
      t.judge.equal("usage.input_tokens", usage?.inputTokens, counted.inputTokens);
    },
  ),
  modelCheck(
    {
      clause: "MDL-GEN-009",
      name: "pieces-add-up",
      title: "the pieces of StreamGenerate add up to its final answer.",
      stacks: ["connect-node", "grpc-js"],
    },
    async (t) => {
      const reply = await t.calls.streamGenerate({ request: t.request() }).finish();
      const events = t.judge.stream("StreamGenerate", reply);
      const last = events.at(-1)?.event;
      t.judge.equal("the last event", last?.case, "completed");
      const pieces = events.flatMap(({ event }) => (event.case === "delta" ? [event.value] : []));
      const said = pieces
        .filter(({ choiceIndex }) => choiceIndex === 0)
        .map(({ delta }) => (delta?.piece.case === "text" ? delta.piece.value : ""))
        .join("");
      const items = last?.case === "completed" ? (last.value.choices[0]?.items ?? []) : [];
      t.judge.equal("the text of the pieces", said, textOf(items));
    },
  ),
  modelCheck(
    {
      clause: "MDL-GEN-010",
      name: "out-of-range",
      title: "parameters out of range, and a prompt without items, are refused by name.",
      sendsInvalid: true,
    },
    async (t) => {
      const bad = [
        ["sampling.temperature", { sampling: { temperature: -1 } }],
        ["sampling.top_p", { sampling: { topP: 2 } }],
        ["choice_count", { choiceCount: 0 }],
        ["prompt", { prompt: { items: [] } }],
      ] as const;
      for (const [field, init] of bad) {
        const request = t.request(init as Parameters<typeof t.request>[0]);
        const status = t.judge.refused(`Generate with a bad ${field}`, await t.calls.generate(request));
        t.judge.names("BadRequest", status, field);
      }
      await t.generate();
    },
  ),
  modelCheck(
    {
      clause: "MDL-TOOL-001",
      name: "tool-call",
      title: "a tool call has an id of its own, a declared name and arguments as text.",
    },
    async (t) => {
      const prompt = t.may(t.fixture.tool_call?.prompt, "model.tool_call.prompt");
      const names = new Set(prompt.tools.map(({ name }) => name));
      const [one, two] = [await t.generate({ prompt }), await t.generate({ prompt })];
      const calls = [...toolCallsOf(one), ...toolCallsOf(two)];
      t.judge.each("tool calls", calls, ({ callId, name, argumentsJson }) => {
        t.judge.differ("call_id", callId, "");
        t.judge.that("name", names.has(name), { expected: [...names].join(" or "), actual: name });
        t.judge.differ("arguments_json", argumentsJson, "");
      });
      t.judge.equal("call_ids that differ", new Set(calls.map(({ callId }) => callId)).size, calls.length);
    },
  ),
  modelCheck(
    {
      clause: "MDL-TOOL-002",
      name: "orphan-result",
      title: "a tool result whose call is not in the prompt is refused.",
      sendsInvalid: true,
    },
    async (t) => {
      const prompt = t.prompt();
      const value = create(ToolResultSchema, { callId: t.id("nobody") });
      prompt.items.push(create(ItemSchema, { kind: { case: "toolResult", value } }));
      t.judge.refused("a result without its call", await t.calls.generate(t.request({ prompt })));
      await t.generate();
    },
  ),
  modelCheck(
    {
      clause: "MDL-TOOL-003",
      name: "incomplete-call",
      title: "a tool call cut by the limit is marked incomplete.",
    },
    async (t) => {
      const prompt = t.may(t.fixture.tool_call?.prompt, "model.tool_call.prompt");
      const whole = toolCallsOf(await t.generate({ prompt }));
      t.judge.each("tool calls without a limit", whole, ({ incomplete }) =>
        t.judge.equal("incomplete", incomplete, false),
      );
      for (let limit = 1n; limit <= 12n; limit += 1n) {
        const answer = await t.generate({ prompt, sampling: { maxOutputTokens: limit } });
        if (answer.choices[0]?.finishReason !== FinishReason.LENGTH) break;
        for (const { incomplete } of toolCallsOf(answer).slice(-1)) {
          t.judge.equal(`incomplete with a limit of ${limit}`, incomplete, true);
        }
      }
    },
  ),
];
