import { describe, expect, it } from "vitest";
import { FailureKind, FinishReason, type StreamGenerateResponse } from "../../gen/index.js";
import { ManualClock } from "../../test/manual-clock.js";
import { answering, GatedModel, saying } from "./fixtures/gated-model.js";
import { ask, method, ServedModel, user } from "./fixtures/served-model.js";
import { replay } from "./models/replay/index.js";
import { pieceOf } from "./pieces.js";

const cases = (messages: readonly StreamGenerateResponse[]) => messages.map(({ event }) => event.case);

/** What deltas add up to, by choice, item and kind. */
function sums(messages: readonly StreamGenerateResponse[]): Map<string, string> {
  const sum = new Map<string, string>();
  for (const { event } of messages) {
    if (event.case !== "delta") continue;
    const { choiceIndex, delta } = event.value;
    const name = `${choiceIndex} ${delta?.itemId} ${delta?.piece.case}`;
    sum.set(name, (sum.get(name) ?? "") + (delta?.piece.value ?? ""));
  }
  return sum;
}

function wanted(messages: readonly StreamGenerateResponse[]): Map<string, string> {
  const last = messages.at(-1)?.event;
  if (last?.case !== "completed") throw new Error(`the stream ended with ${last?.case}`);
  return new Map(
    last.value.choices.flatMap(({ index, items }) =>
      items.map((item): [string, string] => {
        const piece = pieceOf(item);
        return [`${index} ${item.itemId} ${piece?.kind}`, piece?.text ?? ""];
      }),
    ),
  );
}

describe("StreamGenerate", () => {
  it("begins with started and ends with what Generate answers; its pieces add up to it (MDL-GEN-009)", async () => {
    const model = replay({
      conversations: [
        {
          task: "*",
          calls: [
            {
              reasoning: "I must think about this for quite a while.",
              text: "So: 6 × 7 = 42, füg es zusammen 👍🏽 and on and on.",
              tool_calls: [{ name: "calc", arguments: { expression: "6*7", spaced: "yes, it is" } }],
            },
          ],
        },
      ],
    });
    await using served = await ServedModel.start(model);
    const request = ask([user("6*7?")], { choiceCount: 2, wantLogprobs: true });
    const { messages, error } = await served.stream(request);
    expect(error).toBeUndefined();
    expect(messages[0]?.event.case).toBe("started");
    expect(cases(messages).filter((name) => name === "delta").length).toBeGreaterThan(6);
    expect(sums(messages)).toEqual(wanted(messages));
    expect(sums(messages).size).toBe(6);
    const last = messages.at(-1)?.event;
    const streamed = last?.case === "completed" ? last.value : undefined;
    const started = messages[0]?.event;
    expect(started?.case === "started" ? started.value.callId : "").toBe(streamed?.callId);
    const unary = await served.answer(request);
    const blank = (text: string) => text.replaceAll(/call-[0-9a-f]{36}/g, "CALL");
    const shown = (value: unknown) =>
      blank(
        JSON.stringify(value, (name, v) =>
          name === "modelTime" ? undefined : typeof v === "bigint" ? `${v}` : v,
        ),
      );
    expect(shown(streamed)).toBe(shown(unary));
  });

  it("shows for itself what a model does not show", async () => {
    await using served = await ServedModel.start(
      answering(({ onDelta, callId }) => {
        onDelta(0, { itemId: `${callId}-0-0`, kind: "text", text: "he" });
        return saying("hello");
      }),
    );
    const { messages } = await served.stream(ask([user("x")]));
    expect(sums(messages)).toEqual(wanted(messages));
    expect([...sums(messages).values()]).toEqual(["hello"]);
  });

  it.each([
    ["another text", "no"],
    ["more than there is", "hello world"],
  ])("does not pass on as an answer what pieces contradict: %s", async (_what, text) => {
    await using served = await ServedModel.start(
      answering(({ onDelta, callId }) => {
        onDelta(0, { itemId: `${callId}-0-0`, kind: "text", text });
        return saying("hello");
      }),
    );
    const { messages, error } = await served.stream(ask([user("x")]));
    expect(error?.failure).toMatchObject({ kind: FailureKind.MODEL_INVALID_OUTPUT });
    expect(cases(messages)).not.toContain("completed");
  });

  it("says something every 15 s while the model is silent, and within 1 s while it waits (R17)", async () => {
    const clock = new ManualClock();
    const model = new GatedModel();
    await using served = await ServedModel.start(model.definition, {
      clock,
      maxConcurrentCalls: 1,
      queueTimeoutMs: 60_000,
    });
    const seen: StreamGenerateResponse[][] = [[], []];
    let heard: () => void = () => {};
    const until = async (done: () => boolean) => {
      while (!done()) await new Promise<void>((resolve) => (heard = resolve));
    };
    const streams = [0, 1].map((i) =>
      served.stream(ask([user(`${i}`)]), {
        onMessage: (message) => {
          seen[i]?.push(message);
          heard();
        },
      }),
    );
    await until(() => (seen[0]?.length ?? 0) === 1 || (seen[1]?.length ?? 0) === 1);
    await served.client.unary(method.describe, {});
    clock.advance(1000);
    // The one that waits has said so; the other one began.
    await until(() => seen[0]?.length === 1 && seen[1]?.length === 1);
    expect(new Set([seen[0]?.[0]?.event.case, seen[1]?.[0]?.event.case])).toEqual(
      new Set(["started", "heartbeat"]),
    );
    clock.advance(15_000);
    await until(() => seen[0]?.length === 2 && seen[1]?.length === 2);
    expect([seen[0]?.[1]?.event.case, seen[1]?.[1]?.event.case]).toEqual(["heartbeat", "heartbeat"]);
    model.answer(0);
    await model.reached(2);
    model.answer(1);
    for (const { messages } of await Promise.all(streams)) {
      expect(cases(messages).filter((name) => name === "started")).toHaveLength(1);
      expect(messages.at(-1)?.event.case).toBe("completed");
    }
  });

  it("joins the pieces that a slow reader has not taken; they still add up", async () => {
    const text = "0123456789".repeat(20_000);
    await using served = await ServedModel.start(
      answering(({ onDelta, callId }) => {
        for (const letter of text) onDelta(0, { itemId: `${callId}-0-0`, kind: "text", text: letter });
        return {
          choices: [
            {
              items: saying(text).choices[0]?.items ?? [],
              finishReason: FinishReason.STOP,
            },
          ],
          usage: { inputTokens: 1n },
        };
      }),
    );
    const { messages } = await served.stream(ask([user("x")]));
    expect(sums(messages)).toEqual(wanted(messages));
    expect(messages.length).toBeLessThan(10);
  });
});
