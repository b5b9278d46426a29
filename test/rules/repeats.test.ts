import { create, toBinary } from "@bufbuild/protobuf";
import { expect, describe as group, it } from "vitest";
import * as fixture from "./fixture.js";

const { seed, step, verify, close } = fixture;

group("R2: join, replay, conflict", () => {
  it("does a Seed once for fifty equal requests at the same time, over several connections", async () => {
    await using f = await fixture.startFixture();
    f.controls.seed.shut();
    const clients = [f.client, f.another(), f.another()];
    const calls = Array.from({ length: 50 }, (_, i) =>
      (clients[i % 3] as typeof f.client).unary(seed, fixture.seedRequest()),
    );
    await f.controls.seed.arrived(1);
    // What a connection carried before an answer on it has been read by the server.
    await Promise.all(clients.map((client) => client.unary(fixture.describe, {})));
    f.controls.seed.open();
    const answers = await Promise.all(calls);
    expect(new Set(answers.map(({ message }) => message?.answerId)).size).toBe(1);
    expect(answers.every(({ error }) => error === undefined)).toBe(true);
    expect(f.controls.counts.seed).toBe(1);
    expect(new Set(answers.map(({ delivery }) => delivery))).toEqual(new Set(["started", "joined"]));
  });

  it("does a Step once for fifty at the same time, and replays it afterwards", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, fixture.seedRequest());
    f.controls.step.shut();
    const calls = Array.from({ length: 50 }, () => f.client.unary(step, fixture.stepRequest(0)));
    await f.controls.step.arrived(1);
    f.controls.step.open();
    const answers = await Promise.all(calls);
    const again = await f.another().unary(step, fixture.stepRequest(0));
    expect(f.controls.counts.step).toBe(1);
    for (const { message } of answers) expect(message).toEqual(again.message);
    expect(again.delivery).toBe("replayed");
  });

  it("does a Verify once for fifty at the same time; every reader gets the whole stream", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, fixture.seedRequest());
    f.controls.verify.shut();
    const calls = Array.from({ length: 50 }, () => f.client.stream(verify, fixture.verifyRequest(0)));
    await f.controls.verify.arrived(1);
    f.controls.verify.open();
    const answers = await Promise.all(calls);
    const replay = await f.another().stream(verify, fixture.verifyRequest(0));
    expect(f.controls.counts.verify).toBe(1);
    for (const { messages } of answers) {
      const recorded = messages.filter(({ sequence }) => sequence > 0n);
      expect(recorded.map(({ event }) => event.case)).toEqual(["accepted", "result"]);
      expect(recorded).toEqual(replay.messages);
    }
    const resumed = await f.client.stream(verify, { ...fixture.verifyRequest(0), afterSequence: 1n });
    expect(resumed.messages).toEqual(replay.messages.slice(1));
  });

  it("gives each execution an answer_id of its own", async () => {
    await using f = await fixture.startFixture();
    const ids = new Set<string | undefined>();
    ids.add((await f.client.unary(seed, fixture.seedRequest())).message?.answerId);
    for (let i = 0; i < 5; i += 1)
      ids.add((await f.client.unary(step, fixture.stepRequest(i))).message?.answerId);
    expect(ids.size).toBe(6);
    expect(ids.has(undefined)).toBe(false);
  });

  it("refuses other content under the same name, changes nothing, and still replays the first answer", async () => {
    await using f = await fixture.startFixture();
    const first = await f.client.unary(seed, fixture.seedRequest());
    const other = await f.client.unary(seed, fixture.seedRequest("s1", { split: "other" }));
    expect(other.error).toMatchObject({
      code: "ALREADY_EXISTS",
      reason: "OPERATION_CONFLICT",
      failure: undefined,
    });
    const stepped = await f.client.unary(step, fixture.stepRequest(0));
    const otherStep = await f.client.unary(step, fixture.stepRequest(0, "another action"));
    expect(otherStep.error?.reason).toBe("OPERATION_CONFLICT");
    expect((await f.client.unary(step, fixture.stepRequest(0))).message).toEqual(stepped.message);
    expect((await f.client.unary(seed, fixture.seedRequest())).message).toEqual(first.message);
    await f.client.stream(verify, fixture.verifyRequest(0, { final: false }));
    const otherVerify = await f.client.stream(
      verify,
      fixture.verifyRequest(0, { final: false, answer: "43" }),
    );
    expect(otherVerify.error?.reason).toBe("OPERATION_CONFLICT");
    expect(f.controls.counts).toMatchObject({ seed: 1, step: 1, verify: 1 });
  });

  it("takes maps in any order, metadata, unknown and delivery_only fields for equal; lease and timeout for content", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, fixture.seedRequest());
    const base = fixture.seedRequest();
    const shuffled = { ...base, context: { ...base.context, labels: { b: "2", a: "1" } } };
    const again = await f.client.unary(seed, shuffled, {
      metadata: { traceparent: "00-1", authorization: "x" },
    });
    expect(again.delivery).toBe("replayed");
    const changed = await f.client.unary(seed, {
      ...base,
      context: { ...base.context, labels: { b: "2", a: "9" } },
    });
    expect(changed.error?.reason).toBe("OPERATION_CONFLICT");
    const lease = await f.client.unary(seed, { ...base, lease: { seconds: 30n, nanos: 0 } });
    expect(lease.error?.reason).toBe("OPERATION_CONFLICT");
    const unknown = create(seed.input, base);
    unknown.$unknown = [{ no: 999, wireType: 0, data: new Uint8Array([1]) }];
    expect(toBinary(seed.input, unknown).length).toBeGreaterThan(
      toBinary(seed.input, create(seed.input, base)).length,
    );
    expect((await f.client.unary(seed, unknown)).delivery).toBe("replayed");
    const blank = await f.client.unary(seed, {
      ...base,
      source: { case: "task", value: fixture.task({ publicJson: "{}" }) },
    });
    expect(blank.error?.reason).toBe("OPERATION_CONFLICT");
  });

  it("replays a recorded failure, field for field, without trying again", async () => {
    await using f = await fixture.startFixture();
    f.controls.failNext = { at: "seed", error: new Error("/home/somebody/secret") };
    const first = await f.client.unary(seed, fixture.seedRequest());
    const again = await f.client.unary(seed, fixture.seedRequest());
    expect(first.error).toMatchObject({ code: "INTERNAL", reason: "OPERATION_FAILED" });
    expect(first.error?.metadata["answer_id"]).toMatch(/.+/);
    expect(again.error).toEqual(first.error);
    expect(f.controls.counts.seed).toBe(1);
    expect(JSON.stringify(first.error)).not.toContain("secret");
  });

  it("does not record a refusal: its name is free for corrected content", async () => {
    await using f = await fixture.startFixture();
    const bad = await f.client.unary(seed, fixture.seedRequest("s1", { environment: "elsewhere" }));
    expect(bad.error).toMatchObject({
      code: "FAILED_PRECONDITION",
      reason: "WRONG_ENVIRONMENT",
      failure: undefined,
    });
    expect((await f.client.unary(seed, fixture.seedRequest())).error).toBeUndefined();
    const badStep = await f.client.unary(step, { ...fixture.stepRequest(0), actions: [] });
    expect(badStep.error).toMatchObject({ reason: "INVALID_FIELD", fields: ["actions"] });
    expect((await f.client.unary(step, fixture.stepRequest(0))).message?.stepIndex).toBe(0);
  });

  it("keeps names of different kinds apart, and a step's two names together", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, fixture.seedRequest());
    expect((await f.client.stream(verify, fixture.verifyRequest(0, { final: false }))).error).toBeUndefined();
    expect((await f.client.unary(step, fixture.stepRequest(0))).error).toBeUndefined();
    const named = await f.client.unary(step, fixture.actionRequest("call-1"));
    expect(named.message?.stepIndex).toBe(1);
    expect((await f.client.unary(step, fixture.actionRequest("call-1"))).message).toEqual(named.message);
    const byNumber = await f.client.unary(step, fixture.stepRequest(1));
    expect(byNumber.error?.reason).toBe("OPERATION_CONFLICT");
  });

  it("numbers concurrent action_ids without gaps, each once", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, fixture.seedRequest());
    const ids = Array.from({ length: 20 }, (_, i) => `call-${i % 10}`);
    const answers = await Promise.all(ids.map((id) => f.client.unary(step, fixture.actionRequest(id))));
    const indexes = new Map(answers.map(({ message }, i) => [ids[i], message?.stepIndex]));
    expect([...indexes.values()].sort()).toEqual(Array.from({ length: 10 }, (_, i) => i));
    expect(f.controls.counts.step).toBe(10);
    expect(answers.every(({ message }, i) => message?.stepIndex === indexes.get(ids[i]))).toBe(true);
  });

  it("keeps the newest 64 step answers; an older one is ANSWER_EXPIRED and never done again", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, fixture.seedRequest());
    for (let i = 0; i < 50; i += 1) await f.client.unary(step, fixture.stepRequest(i));
    for (let i = 50; i < 100; i += 1) await f.client.unary(step, fixture.actionRequest(`a${i}`));
    const replays = await Promise.all(
      Array.from({ length: 14 }, (_, i) => f.client.unary(step, fixture.stepRequest(36 + i))),
    );
    expect(replays.every(({ delivery }) => delivery === "replayed")).toBe(true);
    expect((await f.client.unary(step, fixture.stepRequest(35))).error).toMatchObject({
      code: "OUT_OF_RANGE",
      reason: "ANSWER_EXPIRED",
    });
    for (let i = 100; i < 130; i += 1) await f.client.unary(step, fixture.stepRequest(i));
    expect((await f.client.unary(step, fixture.actionRequest("a50"))).error?.reason).toBe("ANSWER_EXPIRED");
    expect(f.controls.counts.step).toBe(130);
  });

  it("answers the header touchstone-instance, equal to Describe's, on answers and refusals", async () => {
    await using f = await fixture.startFixture();
    const described = await f.client.unary(fixture.describe, {});
    const id = described.message?.service?.instanceId;
    expect(id).toMatch(/^i-/);
    expect(described.instance).toBe(id);
    expect((await f.client.unary(close, fixture.closeRequest())).instance).toBe(id);
    expect((await f.client.unary(step, fixture.stepRequest(0, "x", "nobody"))).instance).toBe(id);
    const events = await f.client.stream(verify, fixture.verifyRequest(0, { sessionId: "nobody" }));
    expect(events).toMatchObject({ instance: id, error: { reason: "SESSION_UNKNOWN" } });
  });
});
