import { describe, expect, it } from "vitest";
import { CaptureLevel, FailureKind, LogprobKind } from "../../../../../gen/index.js";
import { completion, FakeOpenai, sendChunks, sendJson } from "../../../fixtures/fake-openai.js";
import { ask, assistant, user } from "../../../fixtures/served-model.js";
import { serveOpenai } from "../../../fixtures/served-openai.js";
import { idsOfBytes, logprobsOfBytes } from "../../../token-bytes.js";

describe("tokens of a vLLM-like upstream", () => {
  const logprobs = (...values: unknown[]) => ({
    content: values.map((logprob, i) => ({
      token: `token_id:${41 + i}`,
      logprob,
      bytes: null,
      top_logprobs: [],
    })),
  });
  const told = (change: object = {}) =>
    completion(
      {},
      {
        prompt_token_ids: [1, 2, 3],
        choices: [
          {
            index: 0,
            message: { role: "assistant", content: "ab" },
            finish_reason: "stop",
            token_ids: [41, 42, 43],
            logprobs: logprobs(-0.5, -0.25, -0.125),
            ...change,
          },
        ],
      },
    );

  it("come through untouched, the prompt's too (MDL-LOGP-001, MDL-GATE-011)", async () => {
    await using fake = await FakeOpenai.start((_request, response) => sendJson(response, told()));
    await using served = await serveOpenai(fake, {
      token_ids: true,
      weights_version: "step-7",
      logprob_kind: "processed",
    });
    const answer = await served.answer(
      ask([user("x")], { wantLogprobs: true, sampling: { temperature: 0.5 } }),
    );
    expect(fake.requests[0]?.body).toMatchObject({ return_token_ids: true, logprobs: true });
    const record = answer.choices[0]?.tokens;
    expect(idsOfBytes(record?.promptTokenIds ?? new Uint8Array())).toEqual([1, 2, 3]);
    expect(idsOfBytes(record?.outputTokenIds ?? new Uint8Array())).toEqual([41, 42, 43]);
    expect(logprobsOfBytes(record?.outputLogprobs ?? new Uint8Array())).toEqual([-0.5, -0.25, -0.125]);
    expect(record).toMatchObject({
      logprobKind: LogprobKind.PROCESSED,
      weightSpans: [{ fromToken: 0, version: "step-7" }],
      sampling: { temperature: 0.5 },
    });
    // Counted, not told: the upstream said 10 and 5.
    expect(answer.usage).toMatchObject({ inputTokens: 3n, outputTokens: 3n });
  });

  it("are put together from a stream", async () => {
    await using fake = await FakeOpenai.start((_request, response) =>
      sendChunks(response, [
        { prompt_token_ids: [1, 2, 3], choices: [{ index: 0, delta: { role: "assistant", content: "" } }] },
        { choices: [{ index: 0, delta: { content: "a" }, token_ids: [41], logprobs: logprobs(-0.5) }] },
        {
          choices: [
            {
              index: 0,
              delta: { content: "b" },
              token_ids: [42, 43],
              logprobs: { content: logprobs(0, -0.25, -0.125).content.slice(1) },
              finish_reason: "stop",
            },
          ],
        },
        { choices: [], usage: { prompt_tokens: 3, completion_tokens: 3 } },
      ]),
    );
    await using served = await serveOpenai(fake, { token_ids: true });
    const { messages } = await served.stream(ask([user("x")], { wantLogprobs: true }));
    const last = messages.at(-1)?.event;
    const record = last?.case === "completed" ? last.value.choices[0]?.tokens : undefined;
    expect(idsOfBytes(record?.outputTokenIds ?? new Uint8Array())).toEqual([41, 42, 43]);
    expect(logprobsOfBytes(record?.outputLogprobs ?? new Uint8Array())).toEqual([-0.5, -0.25, -0.125]);
    expect(record?.logprobKind).toBe(LogprobKind.RAW);
  });

  it.each([
    ["field-case-80: one log-prob too few", { logprobs: logprobs(-1, -1) }, "3 output ids and 2 log-probs"],
    ["field-case-80: no log-probs", { logprobs: null }, "3 output ids and 0 log-probs"],
    [
      "field-case-80: ids and log-probs of different tokens",
      { token_ids: [41, 42, 99] },
      "of different tokens from index 2 on",
    ],
    ["field-case-82: NaN", { logprobs: logprobs(-1, "NaN", -1) }, "index 1 that is no finite number"],
    ["field-case-82: null", { logprobs: logprobs(-1, -1, null) }, "index 2 that is no finite number"],
    [
      "field-case-82: -Infinity",
      { logprobs: logprobs("-Infinity", -1, -1) },
      "index 0 that is no finite number",
    ],
  ])("that are wrong fail the call: %s", async (_what, change, reason) => {
    await using fake = await FakeOpenai.start((_request, response) => sendJson(response, told(change)));
    await using served = await serveOpenai(fake, { token_ids: true });
    const { error } = await served.generate(ask([user("x")], { wantLogprobs: true }));
    expect(error?.failure).toMatchObject({ kind: FailureKind.MODEL_INVALID_OUTPUT });
    expect(error?.failure?.reason).toContain(reason);
  });

  it("that it does not tell are a fault of the capture, and a prefix is refused, never repaired", async () => {
    await using fake = await FakeOpenai.start((_request, response) =>
      sendJson(response, completion({ content: "x" })),
    );
    await using served = await serveOpenai(fake, { token_ids: true });
    const { key } = await served.open("g1", { capture: CaptureLevel.TOKENS });
    const first = await served.answer(ask([user("x")]), key);
    await served.answer(ask([user("x"), ...(first.choices[0]?.items ?? []), user("y")]), key);
    const captured = await served.capture("g1");
    expect(captured.map(({ captureFault }) => captureFault)).toEqual(
      Array(2).fill("the model could not tell the tokens of choice 0"),
    );
    expect(captured[1]?.parentCallId).toBe(first.callId);
    const { error } = await served.generate(
      ask([user("x"), assistant("y")], { prompt: { prefixItems: 1, prefixTokenIds: new Uint8Array(4) } }),
    );
    expect(error?.reason).toBe("PREFIX_NOT_EXTENSIBLE");
    expect(fake.requests).toHaveLength(2);
  });
});
