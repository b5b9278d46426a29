import type { MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import {
  CallEnd,
  CaptureLevel,
  FailureKind,
  FinishReason,
  LogprobKind,
  Retry,
  type TokenRecordSchema,
} from "../../gen/index.js";
import { assistantMessage } from "../runtime/items.js";
import type { ModelCall } from "./define-model.js";
import { answering } from "./fixtures/gated-model.js";
import { ask, method, ServedModel, toolResultOf, user } from "./fixtures/served-model.js";
import { replay } from "./models/replay/index.js";
import { bytesOfIds, bytesOfLogprobs, countOf, idsOfBytes, logprobsOfBytes } from "./token-bytes.js";

type RecordInit = MessageInitShape<typeof TokenRecordSchema>;

/** A model that answers one choice with these tokens. */
function telling(tokens: RecordInit | undefined) {
  const prompt = tokens?.promptTokenIds === undefined ? 3 : countOf(tokens.promptTokenIds);
  return answering(() => ({
    choices: [
      {
        items: [assistantMessage("x")],
        finishReason: FinishReason.STOP,
        ...(tokens === undefined ? {} : { tokens }),
      },
    ],
    usage: {
      inputTokens: BigInt(prompt),
      outputTokens: BigInt(countOf(tokens?.outputTokenIds ?? new Uint8Array())),
    },
  }));
}

const whole: RecordInit = {
  promptTokenIds: bytesOfIds([1, 2, 3]),
  outputTokenIds: bytesOfIds([4, 5, 6, 7, 8]),
  outputLogprobs: bytesOfLogprobs([-0.1, -0.2, -0.3, -0.4, -0.5]),
  logprobKind: LogprobKind.RAW,
};

describe("a token record", () => {
  it("tells its call, choice, finish, weights and sampling (MDL-LOGP-001, -002, -009, -010)", async () => {
    await using served = await ServedModel.start(telling(whole));
    const answer = await served.answer(
      ask([user("x")], { wantTokenIds: true, wantLogprobs: true, sampling: { temperature: 0.5 } }),
    );
    expect(answer.choices[0]?.tokens).toMatchObject({
      callId: answer.callId,
      choiceIndex: 0,
      parentCallId: "",
      prefixLen: 0,
      promptTokenIds: whole.promptTokenIds,
      outputTokenIds: whole.outputTokenIds,
      outputLogprobs: whole.outputLogprobs,
      logprobKind: LogprobKind.RAW,
      weightSpans: [{ fromToken: 0, version: "7" }],
      sampling: { temperature: 0.5 },
      finishReason: FinishReason.STOP,
    });
    const ids = await served.answer(ask([user("x")], { wantTokenIds: true }));
    expect(ids.choices[0]?.tokens).toMatchObject({ logprobKind: LogprobKind.UNSPECIFIED });
    expect(ids.choices[0]?.tokens?.outputLogprobs.length).toBe(0);
    expect((await served.answer(ask([user("x")]))).choices[0]?.tokens).toBeUndefined();
  });

  const wrong: readonly [string, RecordInit, string][] = [
    [
      "field-case-80: 5 ids and 4 log-probs",
      { ...whole, outputLogprobs: bytesOfLogprobs([-1, -1, -1, -1]) },
      "choice 0 has 5 output ids and 4 log-probs",
    ],
    [
      "field-case-80: ids without log-probs",
      { ...whole, outputLogprobs: new Uint8Array(), logprobKind: LogprobKind.UNSPECIFIED },
      "choice 0 has 5 output ids and 0 log-probs",
    ],
    [
      "field-case-82: NaN",
      { ...whole, outputLogprobs: bytesOfLogprobs([-0.1, Number.NaN, -0.3, -0.4, -0.5]) },
      "choice 0 has a log-prob at index 1 that is no finite number",
    ],
    [
      "field-case-82: -Infinity",
      { ...whole, outputLogprobs: bytesOfLogprobs([-0.1, -0.2, -0.3, -0.4, Number.NEGATIVE_INFINITY]) },
      "choice 0 has a log-prob at index 4 that is no finite number",
    ],
    [
      "log-probs of no kind",
      { ...whole, logprobKind: LogprobKind.UNSPECIFIED },
      "does not tell what they are of",
    ],
    ["half an id", { ...whole, outputTokenIds: new Uint8Array(7) }, "expected 4 bytes an id, found 7 bytes"],
    ["no prompt ids", { ...whole, promptTokenIds: new Uint8Array() }, "5 output tokens and 0 prompt tokens"],
    ["no output ids", { ...whole, outputTokenIds: new Uint8Array() }, "says something in 0 output tokens"],
    ["weights that begin late", { ...whole, weightSpans: [{ fromToken: 1, version: "7" }] }, "span 0"],
    ["weights without a version", { ...whole, weightSpans: [{ fromToken: 0, version: "" }] }, "span 0"],
    [
      "an empty span of weights",
      { ...whole, weightSpans: [{ version: "7" }, { fromToken: 5, version: "8" }] },
      "span 1 of the weights of choice 0 begins at token 5 of 5",
    ],
  ];

  it.each(wrong)("that is not whole fails its call: %s", async (_what, tokens, reason) => {
    await using served = await ServedModel.start(telling(tokens));
    const { error } = await served.generate(ask([user("x")], { wantLogprobs: true }));
    expect(error?.failure).toMatchObject({
      kind: FailureKind.MODEL_INVALID_OUTPUT,
      retry: Retry.NEW_ATTEMPT,
    });
    expect(error?.failure?.reason).toContain(reason);
    // Captured as what it was: a failed call.
    const { key } = await served.open("g1", { capture: CaptureLevel.TOKENS });
    expect((await served.generate(ask([user("x")]), key)).error?.failure?.reason).toContain(reason);
    expect((await served.capture("g1")).map(({ end }) => end)).toEqual([CallEnd.FAILED]);
  });

  it("that is not equal to usage fails its call (MDL-GEN-007)", async () => {
    const model = answering(() => ({
      choices: [{ items: [assistantMessage("x")], finishReason: FinishReason.STOP, tokens: whole }],
      usage: { inputTokens: 3n, outputTokens: 4n },
    }));
    await using served = await ServedModel.start(model);
    const { error } = await served.generate(ask([user("x")], { wantTokenIds: true }));
    expect(error?.failure?.reason).toBe("usage tells 3 input and 4 output tokens, the ids are 3 and 5");
  });

  it("that does not begin with prefix_token_ids fails its call, with the index (MDL-LOGP-003, field-case-79)", async () => {
    await using served = await ServedModel.start(telling(whole));
    const { error } = await served.generate(
      ask([user("x")], {
        wantTokenIds: true,
        prompt: { prefixItems: 1, prefixTokenIds: bytesOfIds([1, 9]) },
      }),
    );
    expect(error?.failure).toMatchObject({
      kind: FailureKind.MODEL_INVALID_OUTPUT,
      detailsJson: '{"index":1}',
    });
  });

  it("that cannot be had is none, and a fault of the capture, never of the call (MDL-LOGP-007)", async () => {
    await using served = await ServedModel.start(telling(undefined));
    const { key } = await served.open("g1", { capture: CaptureLevel.TOKENS });
    const answer = await served.answer(ask([user("x")], { wantTokenIds: true }), key);
    expect(answer.choices[0]?.tokens).toBeUndefined();
    const [call] = await served.capture("g1");
    expect(call).toMatchObject({
      end: CallEnd.COMPLETED,
      captureFault: "the model could not tell the tokens of choice 0",
    });
    expect((await served.closeGateway("g1")).message?.captureFaults).toBe(1n);
  });
});

describe("a conversation of three turns with tool results", () => {
  // Canonically `ab` is one token; this model sampled `a`, `b` (field-case-79).
  const spelled = [261, 97, 98, 268];
  const script = () =>
    replay({
      conversations: [
        {
          task: "*",
          calls: [
            { tool_calls: [{ name: "t", arguments: "{}" }] },
            { text: "ab", output_token_ids: spelled, weights_version: "8" },
            { text: "done" },
          ],
        },
      ],
    });

  it("is one sequence of tokens in a capture, whatever the harness passes on (MDL-GATE-011, MDL-LOGP-008, -009)", async () => {
    await using served = await ServedModel.start(script());
    const { key } = await served.open("g1", { capture: CaptureLevel.TOKENS });
    const tools = [{ name: "t" }];
    const items = [user("go")];
    for (let turn = 0; turn < 3; turn += 1) {
      const counted = await served.client.unary(method.countTokens, { prompt: { items, tools } }, key);
      const answer = await served.answer(ask(items, { prompt: { tools }, wantLogprobs: true }), key);
      // MDL-GEN-008: also where the prompt holds tokens that nobody would choose anew.
      expect(counted.message?.inputTokens).toBe(answer.usage?.inputTokens);
      const captured = (await served.capture("g1")).at(-1);
      expect(captured?.choices[0]?.tokens).toEqual(answer.choices[0]?.tokens);
      for (const item of answer.choices[0]?.items ?? []) items.push({ kind: item.kind, agentId: "agent" });
      items.push(turn === 0 ? toolResultOf("call_0", "ok") : user("and?"));
    }
    const calls = await served.capture("g1");
    let sequence: number[] = [];
    for (const [turn, call] of calls.entries()) {
      const record = call.choices[0]?.tokens;
      expect(record?.parentCallId).toBe(turn === 0 ? "" : calls[turn - 1]?.callId);
      expect(call.parentCallId).toBe(record?.parentCallId);
      expect(record?.prefixLen).toBe(sequence.length);
      const prompt = [...sequence, ...idsOfBytes(record?.promptTokenIds ?? new Uint8Array())];
      expect(call.usage?.inputTokens).toBe(BigInt(prompt.length));
      sequence = [...prompt, ...idsOfBytes(record?.outputTokenIds ?? new Uint8Array())];
      const logprobs = logprobsOfBytes(record?.outputLogprobs ?? new Uint8Array());
      expect(logprobs.every((logprob) => Number.isFinite(logprob) && logprob <= 0)).toBe(true);
    }
    expect(sequence.join()).toContain(spelled.join());
    // field-case-89: each call tells the weights that made it.
    expect(calls.map(({ choices }) => choices[0]?.tokens?.weightSpans[0]?.version)).toEqual(["1", "8", "1"]);
  });

  it("is continued behind prefix_token_ids exactly, or refused (MDL-LOGP-003, -004, -011)", async () => {
    await using served = await ServedModel.start(
      replay({ conversations: [{ task: "*", calls: [{ text: "ab", output_token_ids: spelled }] }] }),
    );
    const first = await served.answer(ask([user("go")], { wantTokenIds: true }));
    const record = first.choices[0]?.tokens;
    const prefix = [
      ...idsOfBytes(record?.promptTokenIds ?? new Uint8Array()),
      ...idsOfBytes(record?.outputTokenIds ?? new Uint8Array()),
    ];
    const items = [user("go"), ...(first.choices[0]?.items ?? []), user("more"), user("and more")];
    const extend = (ids: number[], prefixItems = 2) =>
      served.generate(
        ask(items, {
          wantTokenIds: true,
          parentCallId: first.callId,
          prompt: { prefixTokenIds: bytesOfIds(ids), prefixItems },
        }),
      );
    const second = await extend(prefix);
    expect(second.message?.choices[0]?.tokens).toMatchObject({
      parentCallId: first.callId,
      prefixLen: prefix.length,
    });
    expect(second.message?.usage?.inputTokens).toBeGreaterThan(BigInt(prefix.length));
    for (const ids of [prefix.with(3, 120), prefix.slice(0, -3), [...prefix, 65], prefix.with(1, 9999)]) {
      const { error } = await extend(ids);
      expect(error).toMatchObject({ code: "FAILED_PRECONDITION", reason: "PREFIX_NOT_EXTENSIBLE" });
    }
    expect((await extend(prefix, 3)).error?.reason).toBe("PREFIX_NOT_EXTENSIBLE");
    expect((await extend(prefix, 1)).error?.reason).toBe("PREFIX_NOT_EXTENSIBLE");
    // The same tokens under other tools are no rendering of this prompt.
    const { error } = await served.generate(
      ask(items, { prompt: { tools: [{ name: "t" }], prefixTokenIds: bytesOfIds(prefix), prefixItems: 2 } }),
    );
    expect(error?.reason).toBe("PREFIX_NOT_EXTENSIBLE");
  });

  it("goes on with a plain prompt where the model cannot continue the tokens, and the record has no parent", async () => {
    const asked: ModelCall[] = [];
    const inner = await script();
    await using served = await ServedModel.start({
      ...inner,
      generate(call) {
        asked.push(call);
        return inner.generate(call);
      },
    });
    const { key } = await served.open("g1", { capture: CaptureLevel.TOKENS });
    const first = await served.answer(ask([user("go")]), key);
    const items = [user("go"), ...(first.choices[0]?.items ?? []), toolResultOf("call_0", "ok")];
    // Other tools: the rendering begins otherwise.
    await served.answer(ask(items, { prompt: { tools: [{ name: "t" }] } }), key);
    expect(asked.map(({ prompt }) => prompt.prefixItems)).toEqual([0, 2, 0]);
    const [, second] = await served.capture("g1");
    expect(second).toMatchObject({ parentCallId: first.callId, captureFault: "" });
    expect(second?.choices[0]?.tokens).toMatchObject({ parentCallId: "", prefixLen: 0 });
    expect((await served.closeGateway("g1")).message?.calls).toBe(2n);
  });
});
