import { timestampDate } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { CaptureLevel, ClosedBy, FailureKind, ModelDialect } from "../../gen/index.js";
import { ManualClock } from "../../test/manual-clock.js";
import { toMs } from "../runtime/duration.js";
import { answering, GatedModel, saying } from "./fixtures/gated-model.js";
import { ask, bearer, method, openRequest, ServedModel, user } from "./fixtures/served-model.js";
import { echo } from "./models/echo/index.js";

describe("OpenGateway", () => {
  it("answers an access per dialect, and a repeat the same accesses (MDL-GATE-001, MDL-GATE-002)", async () => {
    await using served = await ServedModel.start(echo());
    const first = await served.client.unary(method.openGateway, openRequest("g1"));
    const [access, ...others] = first.message?.accesses ?? [];
    expect(others).toEqual([]);
    expect(access).toMatchObject({
      dialect: ModelDialect.TOUCHSTONE_V1,
      baseUrl: served.server.url,
      model: "echo",
    });
    expect(access?.apiKey.length).toBeGreaterThanOrEqual(22);
    expect(first).toMatchObject({ delivery: "started", message: { capture: CaptureLevel.ITEMS } });

    const again = await served.client.unary(method.openGateway, openRequest("g1"));
    expect(again.delivery).toBe("replayed");
    expect(again.message).toEqual(first.message);
    const other = await served.client.unary(method.openGateway, openRequest("g1", { agentId: "other" }));
    expect(other.error).toMatchObject({ code: "ALREADY_EXISTS", reason: "OPERATION_CONFLICT" });
    await served.answer(ask([user("hi")]), bearer(access?.apiKey ?? ""));
  });

  it("refuses by name what it cannot give, and the name stays free", async () => {
    await using served = await ServedModel.start(
      answering(() => saying("x"), { tokens: undefined as never }),
    );
    const dialect = await served.client.unary(
      method.openGateway,
      openRequest("g1", { dialects: [ModelDialect.TOUCHSTONE_V1, ModelDialect.ANTHROPIC_MESSAGES] }),
    );
    expect(dialect.error).toMatchObject({ reason: "UNSATISFIED_REQUIREMENT", fields: ["dialects[1]"] });
    const box = await served.client.unary(
      method.openGateway,
      openRequest("g1", { sandbox: { endpoint: { url: "http://127.0.0.1:1" }, sandboxId: "b" } }),
    );
    expect(box.error).toMatchObject({ reason: "UNSATISFIED_REQUIREMENT", fields: ["sandbox"] });
    const tokens = await served.client.unary(
      method.openGateway,
      openRequest("g1", { capture: CaptureLevel.TOKENS }),
    );
    expect(tokens.error).toMatchObject({
      code: "UNIMPLEMENTED",
      reason: "FEATURE_UNSUPPORTED",
      metadata: { feature: "TOKEN_IDS" },
    });
    const unknown = await served.client.unary(
      method.openGateway,
      openRequest("g1", { dialects: [99 as ModelDialect] }),
    );
    expect(unknown.error).toMatchObject({ code: "INVALID_ARGUMENT", reason: "UNKNOWN_ENUM" });
    await served.open("g1");
  });
});

describe("a gateway's key", () => {
  it("opens its dialect only (MDL-GATE-010)", async () => {
    await using served = await ServedModel.start(echo());
    const { key } = await served.open("g1");
    const refused = [
      await served.client.unary(method.openGateway, openRequest("g2"), key),
      await served.client.unary(method.keepAlive, { gatewayId: "g1" }, key),
      await served.client.unary(
        method.closeGateway,
        { gatewayId: "g1", episodeId: { rolloutId: "r1" } },
        key,
      ),
      await served.client.stream(method.readCapture, { gatewayId: "g1" }, key),
    ];
    for (const { error } of refused) {
      expect(error).toMatchObject({ code: "PERMISSION_DENIED", reason: "PERMISSION" });
    }
    const counted = await served.client.unary(method.countTokens, { prompt: { items: [user("hi")] } }, key);
    expect(counted.message?.inputTokens).toBeGreaterThan(0n);
  });

  it("field-case-132: is dead after Close, and no other gateway's", async () => {
    await using served = await ServedModel.start(echo());
    const one = await served.open("g1");
    const two = await served.open("g2");
    expect(one.key).not.toEqual(two.key);
    await served.answer(ask([user("hi")]), one.key);
    await served.closeGateway("g1");
    for (const call of [
      served.generate(ask([user("hi")]), one.key),
      served.stream(ask([user("hi")]), one.key),
      served.client.unary(method.countTokens, { prompt: { items: [user("hi")] } }, one.key),
      served.client.unary(method.keepAlive, { gatewayId: "g2" }, one.key),
      served.generate(ask([user("hi")]), bearer("never-given")),
      served.generate(ask([user("hi")]), { metadata: { authorization: "Basic eDp5" } }),
    ]) {
      expect((await call).error).toMatchObject({ code: "UNAUTHENTICATED", reason: "CREDENTIALS" });
    }
    await served.answer(ask([user("hi")]), two.key);
  });

  it("makes the call the gateway's: context, agent, task, number and sampling (MDL-GATE-008)", async () => {
    const model = new GatedModel();
    await using served = await ServedModel.start(model.definition);
    const one = await served.open("g1", {
      agentId: "solver",
      sampling: { temperature: 0.7, stop: ["END"], maxOutputTokens: 5n },
    });
    const two = await served.open("g2", { context: { episodeId: { rolloutId: "r2", attempt: 3 } } });
    const asked = ask([user("hi")], {
      agentId: "liar",
      context: { episodeId: { rolloutId: "stranger" } },
      sampling: { temperature: 0.1, topP: 0.3, stop: ["X"], seed: 9n },
    });
    const calls = [served.answer(asked, one.key)];
    await model.reached(1);
    calls.push(served.answer(asked, one.key));
    await model.reached(2);
    calls.push(served.answer(asked, two.key));
    await model.reached(3);
    for (const number of [0, 1, 2]) model.answer(number);
    await Promise.all(calls);
    const [first, second, third] = model.calls;
    expect(first).toMatchObject({
      agentId: "solver",
      taskId: { taskset: "set", id: "q1" },
      callIndex: 0,
      context: { episodeId: { rolloutId: "r1" }, groupId: "g", labels: { a: "1" } },
      sampling: { temperature: 0.7, topP: 0.3, stop: ["END"], seed: 9n, maxOutputTokens: 5n },
    });
    expect(second?.callIndex).toBe(1);
    expect(third).toMatchObject({
      callIndex: 0,
      agentId: "agent",
      context: { episodeId: { rolloutId: "r2", attempt: 3 } },
      sampling: { temperature: 0.1, stop: ["X"] },
    });
    expect((await served.capture("g1")).length).toBe(2);
    expect((await served.capture("g2")).length).toBe(1);
  });
});

describe("CloseGateway", () => {
  it("leaves the key dead also when the gateway is forgotten", async () => {
    const clock = new ManualClock();
    await using served = await ServedModel.start(echo(), { clock });
    const { key } = await served.open("g1");
    await served.closeGateway("g1");
    clock.advance(served.runtime.limits.retentionMs);
    const forgotten = await served.client.unary(method.keepAlive, { gatewayId: "g1" });
    expect(forgotten.error?.reason).toBe("SESSION_UNKNOWN");
    expect((await served.generate(ask([user("hi")]), key)).error?.reason).toBe("CREDENTIALS");
  });

  it("says already_closed the second time and never_opened of an unknown id (MDL-GATE-007)", async () => {
    await using served = await ServedModel.start(echo());
    await served.open("g1");
    const first = await served.closeGateway("g1");
    const second = await served.closeGateway("g1");
    expect(first.message?.receipt).toMatchObject({ alreadyClosed: false, neverOpened: false });
    expect(second.message).toEqual({
      ...first.message,
      receipt: { ...first.message?.receipt, alreadyClosed: true },
    });
    const fresh = await served.closeGateway("never");
    expect(fresh.message?.receipt).toMatchObject({ neverOpened: true, cleanupConfirmed: true });
    const late = await served.client.unary(method.openGateway, openRequest("never"));
    expect(late.error).toMatchObject({ code: "FAILED_PRECONDITION", reason: "SESSION_CLOSED" });
    const unknown = await served.client.stream(method.readCapture, { gatewayId: "unknown" });
    expect(unknown.error).toMatchObject({ code: "NOT_FOUND", reason: "SESSION_UNKNOWN" });
  });

  it("by another episode is refused and changes nothing", async () => {
    await using served = await ServedModel.start(echo());
    const { key } = await served.open("g1");
    const { error } = await served.closeGateway("g1", "another");
    expect(error).toMatchObject({ code: "FAILED_PRECONDITION", reason: "EPISODE_MISMATCH" });
    await served.answer(ask([user("hi")]), key);
  });

  it("tells what a model that does not stop has left, and is confirmed once it has (ALL-CLOSE-013, -017)", async () => {
    const clock = new ManualClock();
    let stop: () => void = () => {};
    let reached: () => void = () => {};
    const inside = new Promise<void>((resolve) => {
      reached = resolve;
    });
    const deaf = answering(
      () =>
        new Promise((resolve) => {
          stop = () => resolve(saying("too late"));
          reached();
        }),
    );
    await using served = await ServedModel.start(deaf, { clock });
    const { key } = await served.open("g1");
    const call = served.generate(ask([user("hi")]), key);
    await inside;
    const closing = served.closeGateway("g1");
    expect((await call).error).toMatchObject({ failure: { kind: FailureKind.CANCELLED } });
    clock.advance(60_000);
    expect((await closing).message?.receipt).toMatchObject({ cleanupConfirmed: false, left: [{ id: "g1" }] });
    stop();
    expect((await served.closeGateway("g1")).message?.receipt).toMatchObject({
      cleanupConfirmed: true,
      alreadyClosed: true,
    });
  });
});

describe("a gateway's lease", () => {
  it("ends a silent gateway as Close does (MDL-GATE-009)", async () => {
    const clock = new ManualClock();
    await using served = await ServedModel.start(echo(), { clock });
    const { answer, key } = await served.open("g1", { lease: { seconds: 10n } });
    expect(answer.lease?.duration?.seconds).toBe(10n);
    clock.advance(9000);
    await served.answer(ask([user("hi")]), key);
    clock.advance(9000);
    const renewed = await served.client.unary(method.keepAlive, { gatewayId: "g1" });
    expect(renewed.message?.lease?.duration?.seconds).toBe(10n);
    clock.advance(9999);
    await served.answer(ask([user("hi")]), key);
    clock.advance(10_000);
    expect((await served.generate(ask([user("hi")]), key)).error?.reason).toBe("CREDENTIALS");
    for (const { error } of [
      await served.client.unary(method.keepAlive, { gatewayId: "g1" }),
      await served.client.stream(method.readCapture, { gatewayId: "g1" }),
      await served.client.unary(method.openGateway, openRequest("g1", { lease: { seconds: 10n } })),
    ]) {
      expect(error).toMatchObject({ code: "FAILED_PRECONDITION", reason: "SESSION_EXPIRED" });
    }
    const closed = await served.closeGateway("g1");
    expect(closed.message).toMatchObject({ calls: 2n, receipt: { closedBy: ClosedBy.LEASE } });
  });

  it("stands still while a call runs, and nothing renews max_lifetime", async () => {
    const clock = new ManualClock();
    const model = new GatedModel();
    await using served = await ServedModel.start(model.definition, {
      clock,
      limits: { maxLifetimeMs: 100_000 },
    });
    const { answer, key } = await served.open("g1", { lease: { seconds: 10n } });
    expect(answer.lease?.maxLifetime?.seconds).toBe(100n);
    const slow = served.generate(ask([user("hi")]), key);
    await model.reached(1);
    clock.advance(60_000);
    model.answer(0);
    expect((await slow).error).toBeUndefined();
    const cut = served.generate(ask([user("hi")]), key);
    await model.reached(2);
    clock.advance(40_000);
    expect((await cut).error).toMatchObject({ failure: { kind: FailureKind.CANCELLED } });
    expect((await served.closeGateway("g1")).message?.receipt?.closedBy).toBe(ClosedBy.LIFETIME);
  });

  it("tells when a call began and how long it took", async () => {
    const clock = new ManualClock();
    const model = new GatedModel();
    await using served = await ServedModel.start(model.definition, { clock });
    const { key } = await served.open("g1");
    clock.advance(1000);
    const began = clock.date();
    const call = served.answer(ask([user("hi")]), key);
    await model.reached(1);
    clock.advance(250);
    model.answer(0);
    const { usage } = await call;
    const [captured] = await served.capture("g1");
    expect(captured?.startTime && timestampDate(captured.startTime)).toEqual(began);
    expect(captured?.duration && toMs(captured.duration)).toBe(250);
    expect(usage?.modelTime && toMs(usage.modelTime)).toBe(250);
  });
});
