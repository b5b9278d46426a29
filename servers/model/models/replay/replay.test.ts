import { describe, expect, it } from "vitest";
import { FailureKind, FinishReason, Retry } from "../../../../gen/index.js";
import { ManualClock } from "../../../../test/manual-clock.js";
import { temporaryFolder } from "../../../../test/temporary-folder.js";
import { textOf } from "../../../runtime/items.js";
import { ask, method, ServedModel, user } from "../../fixtures/served-model.js";
import { replay } from "./index.js";
import { readScript, ScriptError } from "./read-script.js";

type Conversations = NonNullable<Parameters<typeof replay>[0]["conversations"]>;
type Call = Conversations[number]["calls"][number];

/** A replay model whose calls are these, whoever asks. */
const saying = (calls: Call[], options: Omit<Parameters<typeof replay>[0], "conversations"> = {}) =>
  ServedModel.start(replay({ conversations: [{ task: "*", calls }], ...options }));

const said = (answer: Awaited<ReturnType<ServedModel["answer"]>>): string =>
  answer.choices[0]?.items
    .map(({ kind }) =>
      kind.case === "chatMessage"
        ? textOf(kind.value.content)
        : kind.case === "reasoning"
          ? `(${textOf(kind.value.content)})`
          : kind.case === "toolCall"
            ? `${kind.value.name}${kind.value.argumentsJson}${kind.value.incomplete ? "…" : ""}`
            : "",
    )
    .join("|") ?? "";

const finishOf = (answer: Awaited<ReturnType<ServedModel["answer"]>>): string =>
  FinishReason[answer.choices[0]?.finishReason ?? 0] ?? "";

describe("which script is played", () => {
  it("is chosen by task, agent and number of the call; what is exact beats `*`", async () => {
    const line = (task: string, agent: string, text: string, taskset?: string) => ({
      task,
      agent,
      ...(taskset === undefined ? {} : { taskset }),
      calls: [{ text }, { text: `${text} again` }],
    });
    const conversations = [
      line("*", "*", "anything"),
      line("*", "judge", "any judge"),
      line("q1", "*", "q1"),
      line("q1", "judge", "q1 judge"),
      line("q1", "*", "q1 of set", "set"),
    ];
    await using served = await ServedModel.start(replay({ conversations }));
    const first = async (gatewayId: string, id: string, agentId: string, taskset = "other") => {
      const { key } = await served.open(gatewayId, { taskId: { taskset, id }, agentId });
      const texts = [
        said(await served.answer(ask([user("x")]), key)),
        said(await served.answer(ask([user("x")]), key)),
      ];
      expect(texts[1]).toBe(`${texts[0]} again`);
      return texts[0];
    };
    expect(await first("a", "q9", "agent")).toBe("anything");
    expect(await first("b", "q9", "judge")).toBe("any judge");
    expect(await first("c", "q1", "agent")).toBe("q1");
    expect(await first("d", "q1", "judge")).toBe("q1 judge");
    expect(await first("e", "q1", "agent", "set")).toBe("q1 of set");
    expect(said(await served.answer(ask([user("x")])))).toBe("anything");
  });

  it("ends with a failure that says so, or with on_end: stop an empty answer", async () => {
    await using served = await saying([{ text: "one" }]);
    const { key } = await served.open("g1");
    await served.answer(ask([user("x")]), key);
    const { error } = await served.generate(ask([user("x")]), key);
    expect(error?.failure).toMatchObject({
      kind: FailureKind.MODEL_UNAVAILABLE,
      retry: Retry.NEVER,
      reason: 'the script for task "q1", agent "agent" has 1 calls and this is call 2',
    });
    await using stopping = await saying([], { on_end: "stop" });
    const answer = await stopping.answer(ask([user("x")]));
    expect([said(answer), finishOf(answer)]).toEqual(["", "STOP"]);
    await using nobody = await ServedModel.start(replay({ conversations: [{ task: "q7", calls: [] }] }));
    expect((await nobody.generate(ask([user("x")]))).error?.failure?.reason).toBe(
      'the script has no conversation for task "", agent ""',
    );
  });

  it("fails where the script says so, and takes as long as it says", async () => {
    const clock = new ManualClock();
    const conversations = [
      {
        task: "*",
        calls: [
          { fail: { kind: "TIMEOUT", retry: "NEVER", reason: "as written" } },
          { text: "slow", delay_ms: 5000 },
        ],
      },
    ] satisfies Conversations;
    await using served = await ServedModel.start(replay({ conversations }, { clock }));
    const { key } = await served.open("g1");
    const { error } = await served.generate(ask([user("x")]), key);
    expect(error).toMatchObject({
      code: "INTERNAL",
      failure: { kind: FailureKind.TIMEOUT, retry: Retry.NEVER, reason: "as written" },
    });
    const slow = served.answer(ask([user("x")]), key);
    while (clock.timers === 0) await new Promise(setImmediate);
    clock.advance(4999);
    expect(clock.timers).toBe(1);
    clock.advance(1);
    expect(said(await slow)).toBe("slow");
  });
});

describe("a script", () => {
  it("field-case-104: may have a byte order mark, CRLF, blank lines and no final newline", async () => {
    const lines = ['{"task":"a","calls":[]}', "", '{"task":"b","agent":"x","calls":[{"text":"hi"}]}'];
    const folder = temporaryFolder({ "script.jsonl": `\uFEFF${lines.join("\r\n")}` });
    await using served = await ServedModel.start(replay({ file: "script.jsonl" }, { folder }));
    const { key } = await served.open("g1", { taskId: { id: "b" }, agentId: "x" });
    expect(said(await served.answer(ask([user("?")]), key))).toBe("hi");
  });

  it("field-case-103: is refused at start with line, field, expected and found, all bad lines at once", () => {
    const text = [
      '{"task":"a","calls":[]}',
      '{"task":"b","calls":[]},',
      '{"task":7,"calls":[]}',
      '{"task":"c","calls":[{"txt":"x"}]}',
      '{"task":"d","calls":[{"finish":"done"}]}',
      '{"task":"a","calls":[{"text":"twice"}]}',
      '{"task":"e","calls":[{"text":"ab","output_token_ids":[261,97,99,268]}]}',
      '{"task":"f","calls":[{"tool_calls":[{"name":"t","arguments":"","incomplete":true},{"name":"u","arguments":{}}]}]}',
      '{"calls":[]}',
    ].join("\n");
    let problems: readonly string[] = [];
    try {
      readScript(text, "s.jsonl");
    } catch (error) {
      if (!(error instanceof ScriptError)) throw error;
      problems = error.problems;
    }
    expect(problems).toMatchInlineSnapshot(`
      [
        "s.jsonl:2: expected one JSON object, found text that is no JSON",
        "s.jsonl:3: task: Invalid input: expected string, received number",
        "s.jsonl:4: calls[0]: Unrecognized key: "txt"",
        "s.jsonl:5: calls[0].finish: Invalid option: expected one of "stop"|"length"|"tool_calls"|"context_length"|"refusal"|"content_filter", found "done"",
        "s.jsonl:6: task, taskset and agent are those of s.jsonl:1; expected one conversation for each",
        "s.jsonl:7: calls[0].output_token_ids: expected tokens that spell "<assistant>ab<end>", found tokens that spell "<assistant>ac<end>"",
        "s.jsonl:8: calls[0].tool_calls[0].incomplete: expected false, found true: a limit cuts the last tool call only",
        "s.jsonl:9: task: Invalid input: expected string, received undefined",
      ]
    `);
  });

  it("is either a file or given in place", async () => {
    await expect(replay({})).rejects.toThrow("exactly one of `file` and `conversations`");
    await expect(replay({ file: "x", conversations: [] })).rejects.toThrow("exactly one of");
  });
});

describe("what is said", () => {
  it("has reasoning, text and tool calls with their arguments as they were written (MDL-TOOL-001)", async () => {
    await using served = await saying([
      {
        reasoning: "think",
        text: "so",
        tool_calls: [
          { name: "t", arguments: { a: [1, 2.5], "b c": null } },
          { name: "t", arguments: '{ "a" :1.0, ]', call_id: "mine" },
          { name: "u", arguments: "" },
        ],
      },
    ]);
    const answer = await served.answer(ask([user("x")]));
    expect(said(answer)).toBe('(think)|so|t{"a":[1,2.5],"b c":null}|t{ "a" :1.0, ]|u');
    expect(finishOf(answer)).toBe("TOOL_CALLS");
    const ids = answer.choices[0]?.items.flatMap(({ kind }) =>
      kind.case === "toolCall" ? [kind.value.callId] : [],
    );
    expect(ids).toEqual(["call_0", "mine", "call_1"]);
    const turns = new Set(answer.choices[0]?.items.map(({ turnId }) => turnId));
    expect([turns.size, turns.has("")]).toEqual([1, false]);
  });

  it("ends as the script says", async () => {
    const finishes = ["stop", "length", "tool_calls", "context_length", "refusal", "content_filter"] as const;
    await using served = await saying(finishes.map((finish) => ({ text: "x", finish })));
    const { key } = await served.open("g1");
    for (const finish of finishes) {
      const answer = await served.answer(ask([user("x")], { wantTokenIds: true }), key);
      expect(finishOf(answer)).toBe(finish.toUpperCase());
      const [item] = answer.choices[0]?.items ?? [];
      expect(item?.kind.case === "chatMessage" && item.kind.value.refusal).toBe(finish === "refusal");
    }
  });

  it("is answered n times, each with its own finish and ids (MDL-GEN-004)", async () => {
    await using served = await saying([{ tool_calls: [{ name: "t", arguments: {}, call_id: "c" }] }]);
    const answer = await served.answer(ask([user("x")], { choiceCount: 3 }));
    expect(answer.choices.map(({ index, finishReason }) => [index, finishReason])).toEqual(
      [0, 1, 2].map((index) => [index, FinishReason.TOOL_CALLS]),
    );
    const one = await served.answer(ask([user("x")]));
    expect(answer.usage?.outputTokens).toBe(3n * (one.usage?.outputTokens ?? 0n));
  });
});

describe("limits", () => {
  it("field-case-85: the context is full before, exactly at, and just below its end (MDL-GEN-003)", async () => {
    await using served = await saying([{ text: "x".repeat(100) }], { context_tokens: 256 });
    // <begin> <user> ... <end>
    const prompt = (tokens: number) => [user("-".repeat(tokens - 3))];
    const at = async (tokens: number, maxOutputTokens?: bigint) => {
      const sampling = maxOutputTokens === undefined ? {} : { maxOutputTokens };
      const { choices, usage } = await served.answer(ask(prompt(tokens), { sampling, wantTokenIds: true }));
      return [
        usage?.inputTokens,
        usage?.outputTokens,
        FinishReason[choices[0]?.finishReason ?? 0],
        choices[0]?.items.length,
      ];
    };
    expect(await at(300)).toEqual([300n, 0n, "CONTEXT_LENGTH", 0]);
    expect(await at(257)).toEqual([257n, 0n, "CONTEXT_LENGTH", 0]);
    expect(await at(256)).toEqual([256n, 0n, "CONTEXT_LENGTH", 0]);
    expect(await at(255, 50n)).toEqual([255n, 1n, "CONTEXT_LENGTH", 1]);
    expect(await at(255, 1n)).toEqual([255n, 1n, "LENGTH", 1]);
    expect(await at(154)).toEqual([154n, 102n, "STOP", 1]);
    expect(await at(155)).toEqual([155n, 101n, "CONTEXT_LENGTH", 1]);
  });

  it("max_output_tokens is hard and a whole answer is no cut one (MDL-GEN-002)", async () => {
    await using served = await saying([{ text: "xyz" }], { max_output_tokens: 5 });
    const at = async (limit: bigint) => {
      const answer = await served.answer(
        ask([user("?")], { sampling: { maxOutputTokens: limit }, wantTokenIds: true }),
      );
      expect(answer.usage?.outputTokens).toBe(
        BigInt((answer.choices[0]?.tokens?.outputTokenIds.length ?? 0) / 4),
      );
      expect(answer.choices[0]?.tokens?.sampling?.maxOutputTokens).toBe(limit < 5n ? limit : 5n);
      return [said(answer), finishOf(answer), answer.usage?.outputTokens];
    };
    expect(await at(1n)).toEqual(["", "LENGTH", 1n]);
    expect(await at(3n)).toEqual(["xy", "LENGTH", 3n]);
    expect(await at(4n)).toEqual(["xyz", "LENGTH", 4n]);
    expect(await at(5n)).toEqual(["xyz", "STOP", 5n]);
    expect(await at(500n)).toEqual(["xyz", "STOP", 5n]);
  });

  it("never cut a character", async () => {
    await using served = await saying([{ text: "a👍🏽é" }]);
    for (let limit = 1n; limit < 14n; limit += 1n) {
      const answer = await served.answer(ask([user("?")], { sampling: { maxOutputTokens: limit } }));
      expect(answer.usage?.outputTokens).toBeLessThanOrEqual(limit);
      expect(["", "a", "a👍", "a👍🏽", "a👍🏽é"]).toContain(said(answer));
      expect(finishOf(answer)).toBe(limit < 13n ? "LENGTH" : "STOP");
    }
  });

  it("field-case-87: a tool call that they cut is incomplete, one that the model wrote badly is not (MDL-TOOL-003)", async () => {
    await using served = await saying([
      { tool_calls: [{ name: "rm", arguments: { path: "/tmp/a/b" } }] },
      { tool_calls: [{ name: "rm", arguments: '{"path": oops' }], finish: "stop" },
      { tool_calls: [{ name: "rm", arguments: '{"pa', incomplete: true }], finish: "length" },
    ]);
    const { key } = await served.open("g1");
    const cut = await served.answer(ask([user("?")], { sampling: { maxOutputTokens: 12n } }), key);
    expect([said(cut), finishOf(cut)]).toEqual(['rm{"path":"/t…', "LENGTH"]);
    const bad = await served.answer(ask([user("?")]), key);
    expect([said(bad), finishOf(bad)]).toEqual(['rm{"path": oops', "STOP"]);
    const told = await served.answer(ask([user("?")]), key);
    expect([said(told), finishOf(told)]).toEqual(['rm{"pa…', "LENGTH"]);
  });

  it("a stop text ends the answer before itself, the one that comes first (MDL-GEN-005)", async () => {
    await using served = await saying([{ reasoning: "hm", text: "one the two END three" }]);
    const stopAt = async (...stop: string[]) => {
      const answer = await served.answer(ask([user("?")], { sampling: { stop }, wantTokenIds: true }));
      expect(answer.usage?.outputTokens).toBe(
        BigInt((answer.choices[0]?.tokens?.outputTokenIds.length ?? 0) / 4),
      );
      return [said(answer), finishOf(answer)];
    };
    expect(await stopAt("END")).toEqual(["(hm)|one the two ", "STOP"]);
    expect(await stopAt("three", "two")).toEqual(["(hm)|one the ", "STOP"]);
    // In the middle of tokens: " the" is one.
    expect(await stopAt("he")).toEqual(["(hm)|one t", "STOP"]);
    expect(await stopAt("m")).toEqual(["(h)", "STOP"]);
    expect(await stopAt("nowhere")).toEqual(["(hm)|one the two END three", "STOP"]);
  });

  it("a stop token ends the answer behind itself", async () => {
    await using served = await saying([{ text: "abcXdef" }]);
    const answer = await served.answer(ask([user("?")], { sampling: { stopTokenIds: [88] } }));
    expect([said(answer), finishOf(answer), answer.usage?.outputTokens]).toEqual(["abcX", "STOP", 4n]);
  });
});

describe("tokens", () => {
  it("CountTokens equals what Generate tells, tools included (MDL-GEN-008)", async () => {
    await using served = await saying([{ text: "x" }]);
    const tools = [{ name: "t", description: "does it", inputSchemaJson: '{"type":"object"}' }];
    const counts: bigint[] = [];
    for (const prompt of [{ items: [user("the words")] }, { items: [user("the words")], tools }]) {
      const { message } = await served.client.unary(method.countTokens, { prompt });
      const answer = await served.answer({ prompt, wantTokenIds: true });
      expect(message?.inputTokens).toBe(answer.usage?.inputTokens);
      expect(answer.choices[0]?.tokens?.promptTokenIds.length).toBe(Number(message?.inputTokens) * 4);
      counts.push(message?.inputTokens ?? 0n);
    }
    expect(counts[1]).toBeGreaterThan(counts[0] ?? 0n);
  });

  it("are the same for the same seed, and log-probs are others for another (MDL-GEN-006)", async () => {
    await using served = await saying([{ text: "some words of mine" }], { weights_version: "w3" });
    const run = async (seed: bigint) => {
      const answer = await served.answer(ask([user("?")], { sampling: { seed }, wantLogprobs: true }));
      const record = answer.choices[0]?.tokens;
      expect(record?.weightSpans).toMatchObject([{ fromToken: 0, version: "w3" }]);
      expect(record?.sampling).toMatchObject({ temperature: 1, topP: 1, topK: 0, seed });
      return [record?.outputTokenIds, record?.outputLogprobs].map((bytes) =>
        Buffer.from(bytes ?? []).toString("hex"),
      );
    };
    const [one, again, other] = [await run(1n), await run(1n), await run(2n)];
    expect(again).toEqual(one);
    expect(other[0]).toBe(one[0]);
    expect(other[1]).not.toBe(one[1]);
  });

  it("of a script are told as they are, wrong ones too, and then fail the call (field-case-80, field-case-82)", async () => {
    await using served = await saying([
      { text: "ab", logprobs: [-1, -2, -3] },
      { text: "ab", logprobs: [-1, -2] },
      { text: "ab", logprobs: [-1, "NaN", -3] },
    ]);
    const { key } = await served.open("g1");
    const good = await served.answer(ask([user("?")], { wantLogprobs: true }), key);
    expect(Buffer.from(good.choices[0]?.tokens?.outputLogprobs ?? []).readFloatLE(8)).toBe(-3);
    const short = await served.generate(ask([user("?")], { wantLogprobs: true }), key);
    expect(short.error?.failure?.reason).toBe("choice 0 has 3 output ids and 2 log-probs");
    const nan = await served.generate(ask([user("?")], { wantLogprobs: true }), key);
    expect(nan.error?.failure?.reason).toContain("index 1");
  });

  it("usage is what was counted, or what the script tells", async () => {
    await using served = await saying([
      { reasoning: "hm", text: "x" },
      { text: "x", usage: { input_tokens: 1000, cached_input_tokens: 900, cost_usd: 0.5 } },
    ]);
    const { key } = await served.open("g1");
    const counted = await served.answer(ask([user("?")]), key);
    expect(counted.usage).toMatchObject({
      inputTokens: 4n,
      outputTokens: 7n,
      reasoningTokens: 4n,
      modelCalls: 1,
    });
    const told = await served.answer(ask([user("?")]), key);
    expect(told.usage).toMatchObject({
      inputTokens: 1000n,
      cachedInputTokens: 900n,
      outputTokens: 3n,
      costUsd: 0.5,
    });
    expect((await served.closeGateway("g1")).message?.usage).toMatchObject({
      inputTokens: 1004n,
      outputTokens: 10n,
      modelCalls: 2,
      costUsd: 0.5,
    });
  });
});
