import { expect, describe as group, it } from "vitest";
import { FailureKind, StopMode } from "../../gen/index.js";
import { createRuntime } from "../runtime/runtime.js";
import { drivers } from "./drivers/index.js";
import { episodeService } from "./episode-service.js";
import { answered, hangingTurn, turn } from "./fixtures/scripted-cast.js";
import { method, type RunInit, ServedEpisodes } from "./fixtures/served-episodes.js";

const named = (rolloutId: string, change: RunInit = {}): RunInit => ({
  context: { episodeId: { rolloutId } },
  ...change,
});

/** A driver with one place; each turn takes until the test lets it go. */
async function onePlace(queueMs: number) {
  const episodes = await ServedEpisodes.start({
    limits: { maxSessions: 1, queueTimeoutMs: queueMs },
    timeouts: { queueMs, episodeMs: 4000 },
  });
  const turns: (() => void)[] = [];
  let permits = 0;
  const go = (): void => {
    for (; permits > 0 && turns.length > 0; permits -= 1) turns.shift()?.();
  };
  episodes.agent.script.activate = async function* () {
    yield* turn();
    await new Promise<void>((resolve) => {
      turns.push(resolve);
      go();
    });
    for await (const event of answered()) if (event.sequence > 1n) yield event;
  };
  const letGo = (): void => {
    permits += 1;
    go();
  };
  return { episodes, letGo };
}

group("At most max_concurrent_episodes (E4)", () => {
  it("never more are past admission, however many ask (EPI-E4-001)", async () => {
    await using episodes = await ServedEpisodes.start({
      limits: { maxSessions: 4 },
      timeouts: { queueMs: 60_000 },
    });
    let most = 0;
    let open = 0;
    const { seed, close } = episodes.environment.script;
    episodes.environment.script.seed = async (request, call) => {
      open += 1;
      most = Math.max(most, open);
      return (await seed?.(request, call)) ?? {};
    };
    episodes.environment.script.close = async (request, call) => {
      const closed = (await close?.(request, call)) ?? {};
      open -= 1;
      return closed;
    };
    const ran = await Promise.all(Array.from({ length: 20 }, (_, i) => episodes.run(named(`r${i}`))));
    expect(ran.every(({ verdict }) => verdict !== undefined)).toBe(true);
    expect(most).toBe(4);
  });

  it("a wait is outside the episode's clock, and told apart (EPI-E4-003, field-case-045)", async () => {
    const { episodes, letGo } = await onePlace(10_000);
    await using _ = episodes;
    const first = episodes.run(named("a"));
    await episodes.agent.arrived("activate");
    const second = episodes.run(named("b"));
    await episodes.asked(2);
    await episodes.pass(3000);
    letGo();
    expect((await first).verdict).toBeDefined();
    await episodes.agent.arrived("activate", 2);
    await episodes.pass(3000);
    letGo();
    const { verdict, outcome } = await second;
    expect(verdict).toBeDefined();
    expect(outcome?.timings).toMatchObject({ queue: { seconds: 3n }, activate: { seconds: 3n } });
  });

  it("a wait that is too long is a refusal: nothing was started, and it may be asked again (EPI-E4-002, field-case-057)", async () => {
    const { episodes, letGo } = await onePlace(500);
    await using _ = episodes;
    const first = episodes.run(named("a"));
    await episodes.agent.arrived("activate");
    const waiting = episodes.run(named("b"));
    const joining = episodes.run(named("b"));
    await episodes.asked(2);
    await episodes.pass(500);
    for (const { error, events } of [await waiting, await joining]) {
      expect(error).toMatchObject({
        code: "RESOURCE_EXHAUSTED",
        reason: "ADMISSION_TIMEOUT",
        metadata: { limit: "1" },
        failure: undefined,
      });
      expect(error?.retryAfterMs).toBeGreaterThan(0);
      expect(events.filter(({ sequence }) => sequence > 0n)).toEqual([]);
    }
    expect(episodes.environment.count("seed")).toBe(1);
    letGo();
    await first;
    const again = episodes.run(named("b", { envSeed: 3n }));
    await episodes.agent.arrived("activate", 2);
    letGo();
    expect((await again).verdict).toBeDefined();
  });

  it("a run may wait for less than the server allows, not for more", async () => {
    const { episodes } = await onePlace(1000);
    await using _ = episodes;
    void episodes.run(named("a"));
    await episodes.agent.arrived("activate");
    const less = episodes.run(named("b", { timeouts: { queue: { seconds: 0n, nanos: 200_000_000 } } }));
    const more = episodes.run(named("c", { timeouts: { queue: { seconds: 60n, nanos: 0 } } }));
    await episodes.asked(3);
    await episodes.pass(200);
    expect((await less).error?.reason).toBe("ADMISSION_TIMEOUT");
    await episodes.pass(800);
    expect((await more).error?.reason).toBe("ADMISSION_TIMEOUT");
  });

  it("is refused at once where there is no queue", async () => {
    const { episodes } = await onePlace(0);
    await using _ = episodes;
    void episodes.run(named("a"));
    await episodes.agent.arrived("activate");
    expect((await episodes.run(named("b"))).error).toMatchObject({ reason: "CAPACITY" });
  });

  it("a queued run whose caller left is withdrawn (ALL-ADM-003)", async () => {
    const { episodes, letGo } = await onePlace(60_000);
    await using _ = episodes;
    const first = episodes.run(named("a"));
    await episodes.agent.arrived("activate");
    const waiting = episodes.run(named("b"), {
      onCall: (call) => void episodes.asked(2).then(() => call.cancel()),
    });
    expect((await waiting).error?.code).toBe("CANCELLED");
    await episodes.settle();
    letGo();
    expect((await first).verdict).toBeDefined();
    await episodes.settle();
    expect(episodes.environment.count("seed")).toBe(1);
    expect(
      (await episodes.client.stream(method.attach, { episodeId: { rolloutId: "b" } })).error?.reason,
    ).toBe("SESSION_UNKNOWN");
  });

  it("a queued run that is stopped ends at once, without a place (EPI-STOP-001)", async () => {
    const { episodes } = await onePlace(60_000);
    await using _ = episodes;
    void episodes.run(named("a"));
    await episodes.agent.arrived("activate");
    const waiting = episodes.run(named("b"));
    await episodes.asked(2);
    await episodes.client.unary(method.stop, {
      ...{ episodeId: { rolloutId: "b" }, mode: StopMode.ABANDON, reason: "why wait" },
    });
    const { failure, outcome } = await waiting;
    expect(failure?.kind).toBe(FailureKind.CANCELLED);
    expect(outcome).toMatchObject({ stopReason: "why wait", cleanUps: [] });
    expect(episodes.environment.count("seed")).toBe(1);
  });

  it("a cap without a bound on the wait is refused at start (EPI-E4-004, field-case-056)", () => {
    const runtime = createRuntime({ limits: { maxSessions: 4 } });
    const bindings = { environments: {}, agents: {}, models: {}, sandboxes: [] };
    const dial = () => {
      throw new Error("nobody is called");
    };
    const all = Object.values(drivers);
    expect(() => episodeService({ runtime, drivers: all, bindings, dial, version: "0" })).toThrow(
      /max_concurrent_episodes needs queue_timeout/,
    );
  });
});

group("Drain (R18, field-case-048)", () => {
  it("refuses new and queued runs, serves the held one to its end", async () => {
    const { episodes, letGo } = await onePlace(60_000);
    await using _ = episodes;
    const held = episodes.run(named("a"));
    await episodes.agent.arrived("activate");
    const closing = episodes.server.close({ drainTimeoutMs: 3000 });
    await episodes.settle();
    const refused = await episodes.run(named("c"));
    expect(refused.error).toMatchObject({ code: "UNAVAILABLE", reason: "DRAINING" });
    expect(refused.error?.retryAfterMs).toBeGreaterThan(0);
    letGo();
    expect((await held).verdict).toBeDefined();
    await episodes.pass(100).catch(() => undefined);
    await closing;
  });

  it("ends what is held at its timeout, everything released; what waited was never begun", async () => {
    const { episodes } = await onePlace(60_000);
    await using _ = episodes;
    episodes.agent.script.activate = (_request, call) => hangingTurn(call);
    const held = episodes.run(named("a"));
    await episodes.agent.arrived("activate");
    const waiting = episodes.run(named("b"));
    await episodes.asked(2);
    const closing = episodes.server.close({ drainTimeoutMs: 0 });
    const { failure, outcome } = await held;
    expect(failure).toMatchObject({ kind: FailureKind.CANCELLED });
    expect(outcome?.cleanUps.map(({ released }) => released)).toEqual([true, true, true]);
    expect((await waiting).error).toMatchObject({ reason: "DRAINING" });
    await closing;
    expect(episodes.environment.count("seed")).toBe(1);
  });
});
