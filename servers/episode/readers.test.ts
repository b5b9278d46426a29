import type { HandlerContext } from "@connectrpc/connect";
import { expect, describe as group, it } from "vitest";
import { type EpisodeEvent, FailureKind, Retry, Role, Stage, StopMode, StopReason } from "../../gen/index.js";
import { hang } from "../../test/scripted-peer.js";
import { answered, described, hangingVerify, receipt, say, seeded, turn } from "./fixtures/scripted-cast.js";
import { type RunInit, ServedEpisodes, told } from "./fixtures/served-episodes.js";

/** An episode whose agent takes its turn until the test lets it go. */
async function running(change: RunInit = {}, onEvent?: (event: EpisodeEvent) => void) {
  const episodes = await ServedEpisodes.start();
  let letGo: () => void = () => {};
  const gone = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  episodes.agent.script.activate = async function* () {
    yield* turn();
    await gone;
    for await (const event of answered()) if (event.sequence > 1n) yield event;
  };
  let leave: () => void = () => {};
  const ran = episodes.run(change, {
    onCall(call) {
      leave = () => call.cancel();
    },
    ...(onEvent === undefined ? {} : { onEvent }),
  });
  await episodes.agent.arrived("activate");
  return { episodes, ran, letGo, leave: () => leave() };
}

group("Run is an operation (R2, R7, R17)", () => {
  it("is done once for 50 callers at once, and replayed to who comes later", async () => {
    await using episodes = await ServedEpisodes.start();
    const ran = await Promise.all(Array.from({ length: 50 }, () => episodes.run()));
    for (const { events } of ran) expect(events).toEqual(ran[0]?.events);
    expect(ran.filter(({ delivery }) => delivery === "started")).toHaveLength(1);
    expect(episodes.environment.count("seed")).toBe(1);
    const again = await episodes.run();
    expect(again).toMatchObject({ delivery: "replayed", outcome: ran[0]?.outcome });
    expect(episodes.order.filter((call) => call.endsWith("describe"))).toHaveLength(3);
  });

  it("is a conflict with other content, raced or later, and changes nothing", async () => {
    await using episodes = await ServedEpisodes.start();
    const ran = await Promise.all(
      Array.from({ length: 10 }, (_, i) => episodes.run(i % 2 === 0 ? {} : { envSeed: 7n })),
    );
    const refused = ran.filter(({ error }) => error?.reason === "OPERATION_CONFLICT");
    expect(refused).toHaveLength(5);
    expect(refused[0]?.error?.code).toBe("ALREADY_EXISTS");
    expect(episodes.environment.count("seed")).toBe(1);
    expect((await episodes.run({ includeItems: true })).error?.reason).toBe("OPERATION_CONFLICT");
  });

  it("a refused one is not recorded: its name is free for what is right (ALL-REPEAT-008)", async () => {
    await using episodes = await ServedEpisodes.start();
    expect((await episodes.run({ environment: "nope" })).error?.reason).toBe("NAME_UNKNOWN");
    expect((await episodes.attach()).error?.reason).toBe("SESSION_UNKNOWN");
    expect((await episodes.run()).verdict).toBeDefined();
  });

  it("resumes behind an event", async () => {
    await using episodes = await ServedEpisodes.start();
    const { events } = await episodes.run();
    expect((await episodes.run({ afterSequence: 5n })).events).toEqual(events.slice(5));
  });

  it("goes on without its caller, who joins again", async () => {
    const { episodes, ran, letGo, leave } = await running();
    await using _ = episodes;
    leave();
    expect((await ran).error?.code).toBe("CANCELLED");
    await episodes.settle();
    const joining = episodes.run();
    await episodes.settle();
    letGo();
    const joined = await joining;
    expect(joined.verdict).toBeDefined();
    expect(joined.events[0]?.sequence).toBe(1n);
    expect(episodes.environment.count("seed")).toBe(1);
  });

  it("tells heartbeats in silence, which carry no sequence", async () => {
    const { episodes, ran, letGo } = await running();
    await using _ = episodes;
    await episodes.pass(10_000);
    letGo();
    const beats = (await ran).events.filter(({ event }) => event.case === "heartbeat");
    expect(beats.length).toBeGreaterThan(0);
    expect(beats.every(({ sequence }) => sequence === 0n)).toBe(true);
  });

  it("is kept for ten minutes, and never run a second time afterwards (ALL-KEEP-002, ALL-REPEAT-010)", async () => {
    await using episodes = await ServedEpisodes.start();
    await episodes.run();
    await episodes.pass(599_999);
    expect((await episodes.run()).delivery).toBe("replayed");
    await episodes.pass(1);
    for (const { error } of [await episodes.run(), await episodes.attach(), await episodes.ack()]) {
      expect(error).toMatchObject({ code: "OUT_OF_RANGE", reason: "ANSWER_EXPIRED" });
    }
    expect(episodes.environment.count("seed")).toBe(1);
  });

  it("that is no longer kept is known by its name only, of the newest ones (ALL-REPEAT-010)", async () => {
    await using episodes = await ServedEpisodes.start({ keptNames: 2 });
    const named = (rolloutId: string) => ({ context: { episodeId: { rolloutId } } });
    for (const name of ["r1", "r2", "r3"]) {
      await episodes.run(named(name));
      await episodes.pass(1000);
    }
    await episodes.pass(600_000);
    for (const name of ["r2", "r3"]) {
      expect((await episodes.run(named(name))).error?.reason).toBe("ANSWER_EXPIRED");
    }
    expect((await episodes.attach()).error?.reason).toBe("SESSION_UNKNOWN");
  });
});

group("Attach", () => {
  it("follows a running and an ended episode from an event on (EPI-ATT-001)", async () => {
    const { episodes, ran, letGo } = await running();
    await using _ = episodes;
    const attached = episodes.attach(3n);
    await episodes.settle();
    letGo();
    const { events } = await ran;
    const recorded = events.filter(({ sequence }) => sequence > 3n);
    expect((await attached).events.filter(({ sequence }) => sequence > 0n)).toEqual(recorded);
    expect((await episodes.attach(3n)).events).toEqual(recorded);
  });

  it("to an unknown episode is NOT_FOUND and starts nothing (EPI-ATT-002)", async () => {
    await using episodes = await ServedEpisodes.start();
    expect((await episodes.attach()).error).toMatchObject({ code: "NOT_FOUND", reason: "SESSION_UNKNOWN" });
    expect(episodes.seen).toEqual([]);
  });

  it("counts as a reader: the episode is no orphan (EPI-ATT-003)", async () => {
    const { episodes, ran, letGo, leave } = await running({ orphanGrace: { seconds: 2n, nanos: 0 } });
    await using _ = episodes;
    leave();
    await ran;
    await episodes.pass(1999);
    const attached = episodes.attach();
    await episodes.pass(60_000);
    letGo();
    expect((await attached).verdict).toBeDefined();
  });
});

group("An episode that nobody reads (EPI-E2-008)", () => {
  for (const [name, change, ms] of [
    ["at once, with orphan_grace 0", { orphanGrace: { seconds: 0n, nanos: 0 } }, 0],
    ["after its orphan_grace", { orphanGrace: { seconds: 2n, nanos: 0 } }, 2000],
    ["after two minutes where nothing is asked (EPI-E2-009)", {}, 120_000],
  ] as const) {
    it(`is ended ${name}`, async () => {
      const { episodes, ran, leave } = await running(change);
      await using _ = episodes;
      leave();
      await ran;
      if (ms > 0) {
        await episodes.pass(ms - 1);
        expect(episodes.agent.count("close")).toBe(0);
      }
      await episodes.pass(1);
      await episodes.environment.arrived("close");
      expect((await episodes.attach()).failure).toMatchObject({
        kind: FailureKind.CANCELLED,
        stage: Stage.ACTIVATE,
        reason: "nobody read the episode's events",
      });
    });
  }

  it("is none while one of several readers is left", async () => {
    const { episodes, ran, letGo, leave } = await running({ orphanGrace: { seconds: 0n, nanos: 0 } });
    await using _ = episodes;
    const other = episodes.attach();
    await episodes.settle();
    leave();
    await ran;
    await episodes.pass(60_000);
    letGo();
    expect((await other).verdict).toBeDefined();
  });

  it("leaves no timer behind once it has ended", async () => {
    await using episodes = await ServedEpisodes.start();
    await episodes.settle();
    const { timers } = episodes.clock;
    await episodes.run();
    await episodes.settle();
    // What is left is the retention of its outcome.
    expect(episodes.clock.timers).toBe(timers + 1);
  });
});

group("Stop", () => {
  it("ABANDON ends it: CANCELLED, no Verify, clean-up done, the reason told (EPI-STOP-001, EPI-STOP-006)", async () => {
    const { episodes, ran } = await running();
    await using _ = episodes;
    expect((await episodes.stop(StopMode.ABANDON, "no longer wanted")).message?.alreadyStopped).toBe(false);
    const { failure, outcome } = await ran;
    expect(failure).toMatchObject({ kind: FailureKind.CANCELLED, stage: Stage.ACTIVATE });
    expect(outcome?.stopReason).toBe("no longer wanted");
    expect(episodes.environment.count("verify")).toBe(0);
    expect(outcome?.cleanUps.every(({ released }) => released)).toBe(true);
  });

  it("again says already; a later ABANDON wins over FINISH (EPI-STOP-004)", async () => {
    const { episodes, ran } = await running();
    await using _ = episodes;
    expect((await episodes.stop(StopMode.FINISH, "one")).message?.alreadyStopped).toBe(false);
    expect((await episodes.stop(StopMode.FINISH, "two")).message?.alreadyStopped).toBe(true);
    expect((await episodes.stop(StopMode.ABANDON, "three")).message?.alreadyStopped).toBe(false);
    expect((await episodes.stop(StopMode.FINISH, "four")).message?.alreadyStopped).toBe(true);
    const { failure, outcome } = await ran;
    expect(failure?.kind).toBe(FailureKind.CANCELLED);
    expect(outcome?.stopReason).toBe("three");
  });

  it("of an ended episode changes nothing; of an unknown one is NOT_FOUND (EPI-STOP-005)", async () => {
    await using episodes = await ServedEpisodes.start();
    expect((await episodes.stop()).error).toMatchObject({ code: "NOT_FOUND", reason: "SESSION_UNKNOWN" });
    const { outcome } = await episodes.run();
    expect((await episodes.stop()).message?.alreadyStopped).toBe(true);
    expect((await episodes.attach()).outcome).toEqual(outcome);
  });

  it("without a mode is refused", async () => {
    await using episodes = await ServedEpisodes.start();
    const { error } = await episodes.stop(StopMode.UNSPECIFIED);
    expect(error?.code).toBe("INVALID_ARGUMENT");
  });

  it("FINISH interrupts the turn once it has begun, and verifies what is there (EPI-STOP-003)", async () => {
    await using episodes = await ServedEpisodes.start();
    const order: string[] = [];
    const item = say(Role.ASSISTANT, "half an answer", "i1");
    let end: () => void = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    episodes.agent.script.activate = async function* () {
      order.push("accepted");
      yield* turn();
      await ended;
      const value = { stopReason: StopReason.INTERRUPTED, output: [item] };
      for await (const event of turn({ case: "completed", value })) if (event.sequence > 1n) yield event;
    };
    episodes.agent.script.interrupt = async ({ activationIndex }) => {
      order.push(`interrupt ${activationIndex}`);
      end();
      return { alreadyEnded: false };
    };
    const ran = episodes.run();
    await episodes.agent.arrived("activate");
    await episodes.stop(StopMode.FINISH, "time is up");
    const { verdict, outcome } = await ran;
    expect(verdict?.reward?.value).toBe(0.5);
    expect(order).toEqual(["accepted", "interrupt 0"]);
    expect(outcome).toMatchObject({
      stopReason: "time is up",
      agentEnds: [{ stopReason: StopReason.INTERRUPTED, activations: 1 }],
    });
    expect(episodes.environment.requests("verify")[0]?.submission?.agents[0]?.items).toMatchObject([item]);
  });

  it("FINISH waits for a turn that is not accepted yet, then interrupts it", async () => {
    await using episodes = await ServedEpisodes.start();
    const order: string[] = [];
    let accept: () => void = () => {};
    const accepted = new Promise<void>((resolve) => {
      accept = resolve;
    });
    let end: () => void = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    episodes.agent.script.activate = async function* () {
      await accepted;
      order.push("accepted");
      yield* turn();
      await ended;
      const value = { stopReason: StopReason.INTERRUPTED };
      for await (const event of turn({ case: "completed", value })) if (event.sequence > 1n) yield event;
    };
    episodes.agent.script.interrupt = async () => {
      order.push("interrupt");
      end();
      return { alreadyEnded: false };
    };
    const ran = episodes.run();
    await episodes.agent.arrived("activate");
    await episodes.stop(StopMode.FINISH);
    for (let i = 0; i < 20; i += 1) await episodes.settle();
    expect(order).toEqual([]);
    accept();
    expect((await ran).verdict).toBeDefined();
    expect(order).toEqual(["accepted", "interrupt"]);
  });

  it("FINISH closes an agent that cannot be interrupted, and verifies what was heard", async () => {
    await using episodes = await ServedEpisodes.start();
    episodes.agent.script.describe = async () => described({ service: { features: [] } });
    let closed: () => void = () => {};
    const close = new Promise<void>((resolve) => {
      closed = resolve;
    });
    const item = say(Role.ASSISTANT, "half an answer", "i1");
    episodes.agent.script.activate = async function* () {
      yield* turn({ case: "item", value: item });
      await close;
      for await (const event of turn(
        { case: "item", value: item },
        { case: "failed", value: { failure: { kind: FailureKind.CANCELLED, retry: Retry.NEW_ATTEMPT } } },
      )) {
        if (event.sequence > 2n) yield event;
      }
    };
    episodes.agent.script.close = async () => {
      closed();
      return { receipt };
    };
    const ran = episodes.run();
    await episodes.agent.arrived("activate");
    await episodes.stop(StopMode.FINISH, "time is up");
    const { verdict, outcome } = await ran;
    expect(verdict?.reward?.value).toBe(0.5);
    expect(outcome?.agentEnds).toMatchObject([{ stopReason: StopReason.INTERRUPTED, activations: 1 }]);
    expect(outcome?.agentEnds[0]?.failure).toBeUndefined();
    expect(episodes.agent.count("close")).toBe(1);
    expect(episodes.environment.requests("verify")[0]?.submission?.agents[0]?.items).toMatchObject([item]);
  });

  it("FINISH before the turn has begun gives none", async () => {
    await using episodes = await ServedEpisodes.start();
    let go: () => void = () => {};
    episodes.environment.script.seed = (request) =>
      new Promise((resolve) => {
        go = () => resolve(seeded(request));
      });
    const ran = episodes.run();
    await episodes.environment.arrived("seed");
    await episodes.stop(StopMode.FINISH);
    go();
    const { outcome } = await ran;
    expect(episodes.agent.count("activate")).toBe(0);
    expect(outcome?.agentEnds).toMatchObject([{ stopReason: StopReason.INTERRUPTED, activations: 0 }]);
    expect(episodes.environment.count("verify")).toBe(1);
  });

  for (const [rpc, stage] of [
    ["describe", Stage.CHECK],
    ["seed", Stage.SEED],
    ["open", Stage.OPEN],
    ["verify", Stage.VERIFY],
  ] as const) {
    it(`ABANDON in ${rpc}: no verdict, everything released`, async () => {
      await using episodes = await ServedEpisodes.start();
      const hangs = (_request: unknown, call: Pick<HandlerContext, "signal">) => hang(call);
      if (rpc === "describe") episodes.environment.script.describe = hangs;
      if (rpc === "seed") episodes.environment.script.seed = hangs;
      if (rpc === "open") episodes.agent.script.open = hangs;
      if (rpc === "verify") {
        episodes.environment.script.verify = (_request, call) => hangingVerify(call);
      }
      const ran = episodes.run();
      while (!episodes.seen.some((call) => call.rpc === rpc)) await episodes.settle();
      await episodes.stop();
      const { failure, outcome } = await ran;
      expect(failure).toMatchObject({ kind: FailureKind.CANCELLED, stage });
      expect(outcome?.cleanUps.every(({ released }) => released)).toBe(true);
      expect(episodes.environment.count("close")).toBe(episodes.environment.count("seed"));
    });
  }
});

group("ReadTrajectory and Ack", () => {
  it("gives everything in parts, behind a record, also after a failure (EPI-TRAJ-001, EPI-OUT-007)", async () => {
    await using episodes = await ServedEpisodes.start();
    const { outcome } = await episodes.run();
    const { records } = await episodes.trajectory();
    expect(records.map(({ record, agentId }) => [record.case, agentId])).toEqual([
      ["item", "agent"],
      ["item", "agent"],
      ["call", "agent"],
    ]);
    expect(records.map(({ sequence }) => sequence)).toEqual([1n, 2n, 3n]);
    expect(outcome?.trajectory).toMatchObject({ records: 3n, missingReason: "" });
    expect((await episodes.trajectory(2n)).records).toEqual(records.slice(2));
  });

  it("Ack is refused before the end (SESSION_BUSY)", async () => {
    const { episodes, ran, letGo } = await running();
    await using _ = episodes;
    expect((await episodes.ack()).error).toMatchObject({
      code: "FAILED_PRECONDITION",
      reason: "SESSION_BUSY",
    });
    letGo();
    await ran;
    expect((await episodes.ack()).message?.alreadyAcked).toBe(false);
  });

  it("after Ack events and trajectory are gone, the name and the outcome stay (EPI-ACK-001, EPI-ACK-002)", async () => {
    await using episodes = await ServedEpisodes.start();
    const { outcome } = await episodes.run();
    expect((await episodes.ack()).message?.alreadyAcked).toBe(false);
    expect((await episodes.ack()).message?.alreadyAcked).toBe(true);
    expect((await episodes.trajectory()).error?.reason).toBe("ANSWER_EXPIRED");
    const again = await episodes.run();
    expect(told(again.events)).toEqual(["gap", "outcome"]);
    expect(again.outcome).toEqual(outcome);
    expect(episodes.environment.count("seed")).toBe(1);
  });
});
