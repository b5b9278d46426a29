import { expect, describe as group, it } from "vitest";
import { EnvironmentService, FailureKind, Feature, Stage } from "../../gen/index.js";
import { defineEnvironment } from "../../servers/environment/define-environment.js";
import { textOf } from "../../servers/runtime/items.js";
import * as fixture from "./fixture.js";
import { Gate } from "./gated-world.js";

const { seed, step, verify, close, keepAlive, describe } = fixture;
const { fork, watchSteps } = EnvironmentService.method;

const gates = () => ({ fork: new Gate(), step: new Gate(), verify: new Gate() });

/** A world that counts, rewards with the count, and can be copied; the test holds its gates. */
const counting = (gate = gates()) =>
  defineEnvironment({
    name: "gated",
    version: "1.0.0",
    reward: { timing: "step", minimum: 0, maximum: 100 },
    determinism: "seeded",
    read: () => null,
    seed: () => ({ state: { seen: [] as number[] }, input: "count" }),
    async step({ state }) {
      await gate.step.pass();
      state.seen.push(state.seen.length);
      return {
        observation: state.seen.join(","),
        reward: state.seen.length,
        terminated: state.seen.length > 8,
      };
    },
    async verify({ state, stepRewards, steps }) {
      await gate.verify.pass();
      return { reward: stepRewards, metrics: { seen: state.seen.length, steps } };
    },
    async fork(state) {
      await gate.fork.pass();
      return { seen: [...state.seen] };
    },
  });

const forkRequest = (sessionId: string, expectedNextStepIndex: number, sourceSessionId = "s1") => ({
  sessionId,
  sourceSessionId,
  context: fixture.seedRequest().context,
  expectedNextStepIndex,
});

const start = async (steps: number, gate = gates(), limits = {}) => {
  const f = await fixture.serveWorld(counting(gate), { limits });
  await f.client.unary(seed, fixture.seedRequest());
  for (let i = 0; i < steps; i += 1) await f.client.unary(step, fixture.stepRequest(i));
  return f;
};

group("FORK", () => {
  it("goes on exactly where its source stands: counters, sequence, rewards, observation (ENV-FORK-001, ENV-FORK-003)", async () => {
    await using f = await start(3);
    expect((await f.client.unary(describe, {})).message?.service?.features).toContain(Feature.FORK);
    await f.client.stream(verify, fixture.verifyRequest(0, { final: false }));
    const forked = await f.client.unary(fork, forkRequest("f1", 3));
    const { session, sandboxCopied } = forked.message ?? {};
    expect(session).toMatchObject({ sessionId: "f1", nextAgents: ["agent"], placement: 1 });
    expect(sandboxCopied).toBe(false);
    const [item] = session?.agents[0]?.observation?.items ?? [];
    expect(item?.kind.case === "chatMessage" && textOf(item.kind.value.content)).toBe("0,1,2");
    for (const index of [0, 2, 4]) {
      const refused = await f.client.unary(step, fixture.stepRequest(index, "go", "f1"));
      expect(refused.error).toMatchObject({ reason: "OUT_OF_ORDER", metadata: { expected_index: "3" } });
    }
    const own = await f.client.unary(step, fixture.stepRequest(3, "go", "s1"));
    const copy = await f.client.unary(step, fixture.stepRequest(3, "go", "f1"));
    const apart = { answerId: "", outcomes: [] };
    expect({ ...copy.message, ...apart }).toEqual({ ...own.message, ...apart });
    expect(copy.message?.outcomes[0]?.reward).toEqual(own.message?.outcomes[0]?.reward);
    expect(copy.message?.sequence).toBe(4n);
    const judged = await f.client.stream(verify, fixture.verifyRequest(0, { sessionId: "f1" }));
    expect(judged.messages.at(-1)?.event.value).toMatchObject({
      outcome: { value: { reward: { value: 10 }, metrics: { seen: 4, steps: 4 } } },
    });
    const receipt = await f.client.unary(close, fixture.closeRequest("f1"));
    expect(receipt.message).toMatchObject({ steps: 1, verifications: 1 });
  });

  it("shares nothing with its source, also after one of them is closed (ENV-FORK-002)", async () => {
    await using f = await start(1);
    await f.client.unary(fork, forkRequest("f1", 1));
    await f.client.unary(fork, forkRequest("f2", 1, "f1"));
    await f.client.unary(step, fixture.stepRequest(1));
    await f.client.unary(close, fixture.closeRequest());
    const seen = async (sessionId: string): Promise<unknown> => {
      const judged = await f.client.stream(verify, fixture.verifyRequest(0, { sessionId }));
      return judged.messages.at(-1)?.event.value;
    };
    await f.client.unary(step, fixture.stepRequest(1, "go", "f1"));
    await f.client.unary(step, fixture.stepRequest(2, "go", "f1"));
    expect(await seen("f1")).toMatchObject({ outcome: { value: { metrics: { seen: 3 } } } });
    expect(await seen("f2")).toMatchObject({ outcome: { value: { metrics: { seen: 1 } } } });
  });

  it("has a lease of its own (ENV-FORK-004)", async () => {
    await using f = await start(0);
    const leased = { ...forkRequest("f1", 0), lease: { seconds: 600n, nanos: 0 } };
    const { message } = await f.client.unary(fork, leased);
    expect(message?.session?.lease?.duration?.seconds).toBe(600n);
    f.clock.advance(130_000);
    expect((await f.client.unary(keepAlive, { sessionId: "s1" })).error?.reason).toBe("SESSION_EXPIRED");
    expect((await f.client.unary(step, fixture.stepRequest(0, "go", "f1"))).error).toBeUndefined();
  });

  it("refuses a source that is unknown, closed, over, elsewhere or of another place, and renews nothing (ENV-FORK-005, ENV-FORK-006)", async () => {
    await using f = await start(1);
    const reason = async (request: ReturnType<typeof forkRequest>): Promise<string | undefined> =>
      (await f.client.unary(fork, request)).error?.reason;
    expect(await reason(forkRequest("f1", 1, "nobody"))).toBe("SESSION_UNKNOWN");
    const off = await f.client.unary(fork, forkRequest("f1", 0));
    expect(off.error).toMatchObject({ reason: "OUT_OF_ORDER", metadata: { expected_index: "1" } });
    const { expectedNextStepIndex: _, ...blind } = forkRequest("f1", 1);
    expect((await f.client.unary(fork, blind)).error).toMatchObject({
      reason: "INVALID_FIELD",
      fields: ["expected_next_step_index"],
    });
    const other = { ...forkRequest("f1", 1), context: { episodeId: fixture.episodeId("r2") } };
    expect((await f.client.unary(fork, other)).error?.reason).toBe("EPISODE_MISMATCH");
    const changed = { ...forkRequest("f1", 1), context: { episodeId: fixture.episodeId() } };
    expect((await f.client.unary(fork, changed)).error).toMatchObject({
      reason: "INVALID_FIELD",
      fields: ["context"],
    });
    f.clock.advance(100_000);
    expect(await reason(forkRequest("f1", 0))).toBe("OUT_OF_ORDER");
    f.clock.advance(30_000);
    expect(await reason(forkRequest("f1", 1))).toBe("SESSION_EXPIRED");
    await f.client.unary(seed, fixture.seedRequest("s2"));
    await f.client.stream(verify, fixture.verifyRequest(0, { sessionId: "s2" }));
    expect(await reason(forkRequest("f1", 0, "s2"))).toBe("EPISODE_ENDED");
    await f.client.unary(close, fixture.closeRequest("s2"));
    expect(await reason(forkRequest("f1", 0, "s2"))).toBe("SESSION_CLOSED");
    // The name was never used: it is free.
    await f.client.unary(seed, fixture.seedRequest("f1"));
    expect((await f.client.unary(step, fixture.stepRequest(0, "go", "f1"))).error).toBeUndefined();
  });

  it("is an operation under its new id: replayed, in conflict, also with Seed (ENV-FORK-008, ALL-REPEAT-009)", async () => {
    const gate = gates();
    await using f = await start(1, gate);
    gate.fork.shut();
    const both = [f.client.unary(fork, forkRequest("f1", 1)), f.another().unary(fork, forkRequest("f1", 1))];
    await gate.fork.arrived(1);
    gate.fork.open();
    const [first, second] = await Promise.all(both);
    expect(first?.message?.answerId).toBe(second?.message?.answerId);
    expect((await f.client.unary(fork, forkRequest("f1", 1))).delivery).toBe("replayed");
    const reason = async (request: ReturnType<typeof forkRequest>): Promise<string | undefined> =>
      (await f.client.unary(fork, request)).error?.reason;
    expect(await reason(forkRequest("f1", 1, "f1"))).toBe("OPERATION_CONFLICT");
    expect(await reason(forkRequest("s1", 1))).toBe("OPERATION_CONFLICT");
    expect((await f.client.unary(seed, fixture.seedRequest("f1"))).error?.reason).toBe("OPERATION_CONFLICT");
    await f.client.unary(close, fixture.closeRequest("f1"));
    expect(await reason(forkRequest("f1", 1))).toBe("SESSION_CLOSED");
  });

  it("is not made while an operation of its source runs, and lets none run meanwhile", async () => {
    const gate = gates();
    await using f = await start(1, gate);
    gate.step.shut();
    const running = f.client.unary(step, fixture.stepRequest(1));
    await gate.step.arrived(2);
    const busy = await f.client.unary(fork, forkRequest("f1", 2));
    expect(busy.error).toMatchObject({ reason: "SESSION_BUSY", retryAfterMs: 100 });
    gate.step.open();
    await running;
    gate.fork.shut();
    const forking = f.client.unary(fork, forkRequest("f1", 2));
    await gate.fork.arrived(1);
    const waiting = f.client.unary(step, fixture.stepRequest(2));
    const early = f.client.unary(step, fixture.stepRequest(2, "go", "f1"));
    await f.client.unary(describe, {});
    f.clock.advance(130_000);
    gate.fork.open();
    expect((await forking).message?.session?.agents[0]?.observation?.items).toHaveLength(1);
    expect((await waiting).message?.stepIndex).toBe(2);
    expect((await early).message?.stepIndex).toBe(2);
  });

  it("is not made while work that was given up has not stopped", async () => {
    const gate = gates();
    await using f = await start(1, gate);
    gate.verify.shut();
    const judging = f.client.stream(verify, {
      ...fixture.verifyRequest(0, { final: false }),
      timeout: { seconds: 5n, nanos: 0 },
    });
    await gate.verify.arrived(1);
    f.clock.advance(5000);
    expect((await judging).messages.at(-1)?.event.value).toMatchObject({ outcome: { case: "failure" } });
    expect((await f.client.unary(fork, forkRequest("f1", 1))).error?.reason).toBe("SESSION_BUSY");
    gate.verify.open();
    expect((await f.client.unary(fork, forkRequest("f1", 1))).error).toBeUndefined();
  });

  it("needs a place of its own, and holds none when it is refused at last (ALL-ADM-001, ENV-SEED-010)", async () => {
    await using f = await start(0, gates(), { maxSessions: 2, queueTimeoutMs: 60_000 });
    await f.client.unary(seed, fixture.seedRequest("s2"));
    const queued = f.client.unary(fork, forkRequest("f1", 0));
    await f.client.unary(step, fixture.stepRequest(0));
    await f.client.unary(close, fixture.closeRequest("s2"));
    // Its source went on while it waited.
    expect((await queued).error).toMatchObject({
      reason: "OUT_OF_ORDER",
      metadata: { expected_index: "1" },
    });
    expect((await f.client.unary(fork, forkRequest("f1", 1))).error).toBeUndefined();
    f.clock.advance(1);
    const full = f.client.unary(fork, forkRequest("f2", 1));
    await f.client.unary(describe, {});
    f.clock.advance(60_000);
    expect((await full).error?.reason).toBe("ADMISSION_TIMEOUT");
  });

  it("that breaks is a recorded failure which touches its source in nothing", async () => {
    const broken = { ...counting(), fork: () => Promise.reject(new Error("/secret")) };
    await using f = await fixture.serveWorld(broken, { limits: { maxSessions: 2 } });
    await f.client.unary(seed, fixture.seedRequest());
    const failed = await f.client.unary(fork, forkRequest("f1", 0));
    expect(failed.error).toMatchObject({ reason: "OPERATION_FAILED", failure: { stage: Stage.SEED } });
    expect((await f.client.unary(fork, forkRequest("f1", 0))).delivery).toBe("replayed");
    expect((await f.client.unary(step, fixture.stepRequest(0))).message?.stepIndex).toBe(0);
    // It holds no place.
    expect((await f.client.unary(seed, fixture.seedRequest("s2"))).error).toBeUndefined();
  });

  it("whose source is closed meanwhile is made all the same, and the Close waits for it", async () => {
    const gate = gates();
    await using f = await start(1, gate);
    gate.fork.shut();
    const forking = f.client.unary(fork, forkRequest("f1", 1));
    await gate.fork.arrived(1);
    const closing = f.client.unary(close, fixture.closeRequest());
    await f.client.unary(describe, {});
    gate.fork.open();
    expect((await forking).error).toBeUndefined();
    expect((await closing).message?.receipt?.cleanupConfirmed).toBe(true);
    expect((await f.client.unary(step, fixture.stepRequest(1, "go", "f1"))).message?.stepIndex).toBe(1);
  });

  it("is watched from where its source stood", async () => {
    await using f = await start(2);
    await f.client.unary(fork, forkRequest("f1", 2));
    await f.client.unary(step, fixture.stepRequest(2, "go", "f1"));
    const arrived = new Gate();
    const watching = f.client.stream(
      watchSteps,
      { sessionId: "f1" },
      { onMessage: () => void arrived.pass() },
    );
    await arrived.arrived(2);
    await f.client.unary(close, fixture.closeRequest("f1"));
    const { messages } = await watching;
    expect(messages).toMatchObject([
      { event: { case: "gap", value: { untilSequence: 2n } } },
      { event: { case: "step", value: { response: { sequence: 3n, stepIndex: 2 } } } },
    ]);
  });

  it("is UNIMPLEMENTED where the environment cannot copy (ALL-ERR-005)", async () => {
    await using f = await fixture.startFixture();
    await f.client.unary(seed, fixture.seedRequest());
    expect((await f.client.unary(fork, forkRequest("f1", 0))).error?.code).toBe("UNIMPLEMENTED");
  });
});

group("work that another session is made of", () => {
  it("does not hold its source once it is given up: SESSION_BUSY, then the source goes on (R3)", async () => {
    const gate = gates();
    await using f = await start(1, gate);
    gate.fork.shut();
    const forked = f.client.unary(fork, { ...forkRequest("f1", 1), timeout: { seconds: 1n } });
    await gate.fork.arrived(1);
    f.clock.advance(1000);
    expect((await forked).error?.failure?.kind).toBe(FailureKind.TIMEOUT);
    const early = f.client.unary(step, fixture.stepRequest(1));
    await f.client.unary(describe, {});
    f.clock.advance(10_000);
    expect((await early).error?.reason).toBe("SESSION_BUSY");
    gate.fork.open();
    await f.client.unary(describe, {});
    expect((await f.client.unary(step, fixture.stepRequest(1))).message?.stepIndex).toBe(1);
  });
});
