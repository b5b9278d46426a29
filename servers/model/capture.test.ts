import { describe, expect, it } from "vitest";
import { CallEnd, CaptureLevel, ClosedBy, FailureKind, Retry, Stage } from "../../gen/index.js";
import { OperationFailure } from "../runtime/failure.js";
import { answering, GatedModel, saying } from "./fixtures/gated-model.js";
import { ask, assistant, method, ServedModel, user } from "./fixtures/served-model.js";
import { echo } from "./models/echo/index.js";

describe("ReadCapture", () => {
  it("gives every call once, in order, cut, failed and running ones too; also after Close (MDL-GATE-004, -005)", async () => {
    const model = new GatedModel();
    await using served = await ServedModel.start(model.definition);
    const { key } = await served.open("g1");
    let cancel: () => void = () => {};
    const calls = [
      served.generate(ask([user("0")]), key),
      served.generate(ask([user("1")]), {
        ...key,
        onCall: (call) => {
          cancel = () => call.cancel();
        },
      }),
    ];
    await model.reached(2);
    calls.push(served.generate(ask([user("2")]), key));
    await model.reached(3);
    model.answer(
      2,
      new OperationFailure({ kind: FailureKind.MODEL_UNAVAILABLE, retry: Retry.NEW_ATTEMPT, reason: "gone" }),
    );
    cancel();
    await model.left(1);
    await calls[2];
    const running = await served.capture("g1");
    expect(running.map(({ end }) => end)).toEqual([CallEnd.UNSPECIFIED, CallEnd.CUT, CallEnd.FAILED]);
    model.answer(0);
    await Promise.all(calls);
    calls.push(served.generate(ask([user("3")]), key));
    await model.reached(4);
    const closed = await served.closeGateway("g1");
    const { error } = (await calls[3]) ?? {};
    expect(error).toMatchObject({
      code: "ABORTED",
      reason: "OPERATION_FAILED",
      failure: { kind: FailureKind.CANCELLED, stage: Stage.ACTIVATE, agentId: "agent" },
    });
    expect(closed.message).toMatchObject({
      calls: 4n,
      captureFaults: 0n,
      usage: { modelCalls: 4, inputTokens: 3n, outputTokens: 2n },
      receipt: { closedBy: ClosedBy.CALLER, cleanupConfirmed: true },
    });
    const kept = await served.capture("g1");
    expect(kept.map(({ end }) => end)).toEqual([
      CallEnd.COMPLETED,
      CallEnd.CUT,
      CallEnd.FAILED,
      CallEnd.FAILED,
    ]);
    expect(kept[2]?.failure).toMatchObject({ kind: FailureKind.MODEL_UNAVAILABLE, reason: "gone" });
    expect(kept[3]?.failure?.kind).toBe(FailureKind.CANCELLED);
    expect(new Set(kept.map(({ callId }) => callId)).size).toBe(4);
    const tail = await served.client.stream(method.readCapture, { gatewayId: "g1", afterSequence: 2n });
    expect(tail.messages.map(({ sequence }) => sequence)).toEqual([3n, 4n]);
  });

  it("finds the longest earlier call that an input begins with; ids and agent_id do not count", async () => {
    let answers = 0;
    await using served = await ServedModel.start(
      answering(() => {
        answers += 1;
        return saying(`answer ${answers}`);
      }),
    );
    const { key } = await served.open("g1");
    const first = await served.answer(ask([user("one")]), key);
    const passedOn = { ...assistant("answer 1"), itemId: "mine", agentId: "agent", turnId: "t" };
    const second = await served.answer(ask([user("one"), passedOn, user("two")]), key);
    await served.answer(ask([user("one"), passedOn, user("two"), assistant("answer 2"), user("three")]), key);
    await served.answer(ask([user("one"), assistant("something else"), user("two")]), key);
    const [a, b, c, d] = await served.capture("g1");
    expect(a).toMatchObject({ callId: first.callId, parentCallId: "", prefixItems: 0 });
    expect(a?.input.length).toBe(1);
    expect(b).toMatchObject({ parentCallId: first.callId, prefixItems: 2 });
    expect(b?.input.length).toBe(1);
    expect(c).toMatchObject({ parentCallId: second.callId, prefixItems: 4 });
    expect(c?.input.length).toBe(1);
    expect(d).toMatchObject({ parentCallId: "", prefixItems: 0 });
    expect(d?.input.length).toBe(3);
    expect(c?.choices[0]?.items).toHaveLength(1);
    expect(c?.choices[0]?.tokens).toBeUndefined();
  });

  it("keeps counts, usage and ends only at level SUMMARY", async () => {
    await using served = await ServedModel.start(echo());
    const { key } = await served.open("g1", { capture: CaptureLevel.SUMMARY });
    const said = await served.answer(ask([user("secret words")]), key);
    const [call] = await served.capture("g1");
    expect(call).toMatchObject({ callId: said.callId, end: CallEnd.COMPLETED, input: [], parentCallId: "" });
    expect(call?.choices).toMatchObject([{ items: [], finishReason: said.choices[0]?.finishReason }]);
    expect(call?.usage).toEqual(said.usage);
  });

  it("does not count a call that the model refused", async () => {
    await using served = await ServedModel.start(echo());
    const { key } = await served.open("g1");
    const { error } = await served.generate(
      ask([user("hi")], {
        prompt: { items: [user("hi")], prefixItems: 1, prefixTokenIds: Buffer.from([9, 0, 0, 0]) },
      }),
      key,
    );
    expect(error).toMatchObject({ code: "FAILED_PRECONDITION", reason: "PREFIX_NOT_EXTENSIBLE" });
    expect(await served.capture("g1")).toEqual([]);
    expect((await served.closeGateway("g1")).message?.calls).toBe(0n);
  });

  it("keeps a call whose record would be too large without its words, and says so; the call is answered", async () => {
    const long = "x".repeat(3 << 20);
    await using served = await ServedModel.start(answering(() => saying(long)));
    const { key } = await served.open("g1");
    await served.answer(ask([user(long)]), key);
    const [call] = await served.capture("g1");
    expect(call?.captureFault).toContain("bytes, more than the");
    expect(call).toMatchObject({ end: CallEnd.COMPLETED, input: [], choices: [{ items: [] }] });
    expect((await served.closeGateway("g1")).message?.captureFaults).toBe(1n);
  });

  it("can be read also where a prompt alone fills a message", async () => {
    const failure = { kind: FailureKind.MODEL_UNAVAILABLE, retry: Retry.NEVER, reason: "x".repeat(2000) };
    await using served = await ServedModel.start(
      answering(() => {
        throw new OperationFailure(failure);
      }),
    );
    const { key } = await served.open("g1");
    await served.generate(ask([user("x".repeat((4 << 20) - 100))]), key);
    const [call] = await served.capture("g1");
    expect(call).toMatchObject({ end: CallEnd.FAILED, input: [], failure });
    expect(call?.captureFault).toContain("what was said is left out");
  });
});
