import { Code } from "@connectrpc/connect";
import { expect, describe as group, it } from "vitest";
import {
  Boundary,
  Delivery,
  EnvironmentService,
  FailureKind,
  ResourceKind,
  Retry,
  Stage,
  StopMode,
} from "../../gen/index.js";
import { bareStatus, hang, ScriptedPeer } from "../../test/scripted-peer.js";
import { Refusal } from "../runtime/refusal.js";
import { startRelay } from "./fixtures/relay.js";
import { answered, environmentScript, hangingTurn, receipt, turn } from "./fixtures/scripted-cast.js";
import { ServedEpisodes, told } from "./fixtures/served-episodes.js";

const closes = ({ order }: ServedEpisodes): string[] =>
  order.filter((call) => ["agent.close", "model.closeGateway", "environment.close"].includes(call));
const inReverse = ["agent.close", "model.closeGateway", "environment.close"];

group("Everything that was made is released in reverse, each once (EPI-E2-001, EPI-E2-002)", () => {
  const endings: Record<string, (episodes: ServedEpisodes) => Promise<FailureKind | "verdict">> = {
    async success(episodes) {
      return (await episodes.run()).failure?.kind ?? "verdict";
    },
    async "the agent's failure"(episodes) {
      episodes.agent.script.activate = () =>
        turn({
          case: "failed",
          value: { failure: { kind: FailureKind.HARNESS_CRASHED, retry: Retry.NEVER } },
        });
      return (await episodes.run()).failure?.kind ?? "verdict";
    },
    async "a Verify that fails"(episodes) {
      episodes.environment.script.verify = () => {
        throw new Refusal("VERIFIER_STATE_INVALID", "no");
      };
      return (await episodes.run()).failure?.kind ?? "verdict";
    },
    async "the episode's timeout"(episodes) {
      episodes.agent.script.activate = (_request, call) => hangingTurn(call);
      const running = episodes.run();
      await episodes.agent.arrived("activate");
      await episodes.pass(3_600_000);
      return (await running).failure?.kind ?? "verdict";
    },
    async "Stop ABANDON"(episodes) {
      episodes.agent.script.activate = (_request, call) => hangingTurn(call);
      const running = episodes.run();
      await episodes.agent.arrived("activate");
      await episodes.stop(StopMode.ABANDON);
      return (await running).failure?.kind ?? "verdict";
    },
    async "a vanished reader"(episodes) {
      episodes.agent.script.activate = (_request, call) => hangingTurn(call);
      const left = episodes.run(
        { orphanGrace: { seconds: 0n, nanos: 0 } },
        { onCall: (call) => void episodes.agent.arrived("activate").then(() => call.cancel()) },
      );
      expect((await left).error?.code).toBe("CANCELLED");
      await episodes.pass(0);
      return (await episodes.attach()).failure?.kind ?? "verdict";
    },
    async drain(episodes) {
      episodes.agent.script.activate = (_request, call) => hangingTurn(call);
      const running = episodes.run();
      await episodes.agent.arrived("activate");
      await episodes.server.close({ drainTimeoutMs: 0 });
      return (await running).failure?.kind ?? "verdict";
    },
    async "a peer that is gone"(episodes) {
      episodes.agent.script.activate = () => {
        throw bareStatus(Code.Unavailable);
      };
      return (await episodes.run()).failure?.kind ?? "verdict";
    },
  };
  const expected: Record<string, FailureKind | "verdict"> = {
    success: "verdict",
    "the agent's failure": FailureKind.HARNESS_CRASHED,
    "a Verify that fails": FailureKind.VERIFIER_FAILED,
    "the episode's timeout": FailureKind.TIMEOUT,
    "Stop ABANDON": FailureKind.CANCELLED,
    "a vanished reader": FailureKind.CANCELLED,
    drain: FailureKind.CANCELLED,
    "a peer that is gone": FailureKind.UNAVAILABLE,
  };
  for (const [name, end] of Object.entries(endings)) {
    it(`after ${name}`, async () => {
      await using episodes = await ServedEpisodes.start();
      expect(await end(episodes)).toBe(expected[name]);
      expect(closes(episodes)).toEqual(inReverse);
      expect(episodes.environment.count("seed")).toBe(1);
    });
  }

  it("tells at the outcome of every intent whether it is released (EPI-E1-006, EPI-OUT-006)", async () => {
    await using episodes = await ServedEpisodes.start();
    episodes.agent.script.close = async () => {
      throw new Refusal("EPISODE_MISMATCH", "not yours");
    };
    const { events, outcome } = await episodes.run();
    const intents = events.flatMap(({ event }) => (event.case === "resourceIntent" ? [event.value] : []));
    const released = events.flatMap(({ event }) =>
      event.case === "resourceReleased" ? [event.value.id] : [],
    );
    expect(intents.map(({ kind }) => kind)).toEqual([
      ResourceKind.ENVIRONMENT_SESSION,
      ResourceKind.GATEWAY,
      ResourceKind.AGENT_SESSION,
    ]);
    for (const intent of intents) expect(intent.episodeId?.rolloutId).toBe("r1");
    expect(outcome?.cleanUps.map(({ resource }) => resource)).toEqual(intents.toReversed());
    for (const { resource, released: gone } of outcome?.cleanUps ?? []) {
      expect(released.includes(resource?.id ?? "")).toBe(gone);
    }
    expect(outcome?.cleanUps.map(({ released: gone }) => gone)).toEqual([false, true, true]);
  });
});

group("Intents and lost replies (E1)", () => {
  it("an intent is told before the call that makes it (EPI-E1-003)", async () => {
    await using episodes = await ServedEpisodes.start();
    const heard: string[] = [];
    const waits: (() => void)[] = [];
    const heardOf = async (binding: string): Promise<void> => {
      // A driver that told it only after the call would wait here for ever.
      while (!heard.includes(binding)) await new Promise<void>((resolve) => waits.push(resolve));
    };
    const { seed } = episodes.environment.script;
    const { openGateway } = episodes.model.script;
    const { open } = episodes.agent.script;
    episodes.environment.script.seed = async (request, call) => {
      await heardOf("world");
      return (await seed?.(request, call)) ?? {};
    };
    episodes.model.script.openGateway = async (request, call) => {
      await heardOf("toy");
      return (await openGateway?.(request, call)) ?? {};
    };
    episodes.agent.script.open = async (request, call) => {
      await heardOf("loop");
      return (await open?.(request, call)) ?? {};
    };
    const { verdict } = await episodes.run(
      {},
      {
        onEvent({ event }) {
          if (event.case === "resourceIntent") heard.push(event.value.binding);
          for (const wake of waits.splice(0)) wake();
        },
      },
    );
    expect(verdict).toBeDefined();
  });

  const creations = [
    ["seed", Boundary.ENVIRONMENT, ["environment.close"]],
    ["openGateway", Boundary.MODEL, ["model.closeGateway", "environment.close"]],
    ["open", Boundary.AGENT, ["agent.close", "model.closeGateway", "environment.close"]],
  ] as const;
  for (const [rpc, boundary, closed] of creations) {
    it(`${rpc} whose reply is lost is asked again under its own name only, then closed (EPI-E1-001, EPI-E6-003)`, async () => {
      await using episodes = await ServedEpisodes.start();
      const lost = async (): Promise<never> => {
        throw bareStatus(Code.Unavailable);
      };
      if (rpc === "seed") episodes.environment.script.seed = lost;
      if (rpc === "openGateway") episodes.model.script.openGateway = lost;
      if (rpc === "open") episodes.agent.script.open = lost;
      const { failure } = await episodes.run();
      expect(failure).toMatchObject({
        kind: FailureKind.UNAVAILABLE,
        retry: Retry.NEW_ATTEMPT,
        causes: [{ boundary, code: Code.Unavailable, delivery: Delivery.POSSIBLY_DELIVERED }],
      });
      const asked = episodes.seen.filter((call) => call.rpc === rpc).map(({ request }) => request);
      expect(asked.length).toBeGreaterThan(1);
      for (const request of asked) expect(request).toEqual(asked[0]);
      expect(closes(episodes)).toEqual(closed);
    });
  }

  it("a Seed that took effect before its connection broke is joined, not made a second time", async () => {
    let url = "";
    await using relay = await startRelay(() => url);
    await using episodes = await ServedEpisodes.start({ urls: { environment: relay.url } });
    url = episodes.environment.url;
    const { seed } = environmentScript();
    let seeds = 0;
    episodes.environment.script.seed = async (request, call) => {
      seeds += 1;
      if (seeds === 1) relay.cut();
      return (await seed?.(request, call)) ?? {};
    };
    const { verdict } = await episodes.run();
    expect(verdict?.reward?.value).toBe(0.5);
    const ids = episodes.environment.requests("seed").map(({ sessionId }) => sessionId);
    expect(ids).toHaveLength(2);
    expect(new Set(ids).size).toBe(1);
    expect(episodes.environment.count("close")).toBe(1);
  });

  it("what never came to be is closed under its id too (EPI-E1-002)", async () => {
    await using episodes = await ServedEpisodes.start();
    episodes.environment.script.seed = (_request, call) => hang(call);
    const running = episodes.run();
    await episodes.environment.arrived("seed");
    await episodes.stop();
    const { failure } = await running;
    expect(failure).toMatchObject({ kind: FailureKind.CANCELLED, stage: Stage.SEED });
    expect(episodes.environment.requests("close")[0]?.sessionId).toBe(
      episodes.environment.requests("seed")[0]?.sessionId,
    );
    expect(closes(episodes)).toEqual(["environment.close"]);
  });
});

group("A clean-up that does not go well", () => {
  it("hangs for its own bound, and the next still runs; the verdict stays (EPI-E2-003, EPI-E2-006, EPI-E2-007, EPI-E3-001)", async () => {
    await using episodes = await ServedEpisodes.start({ timeouts: { cleanUpMs: 5000, episodeMs: 6000 } });
    episodes.agent.script.close = (_request, call) => hang(call);
    episodes.model.script.closeGateway = (_request, call) => hang(call);
    const running = episodes.run();
    await episodes.agent.arrived("close");
    await episodes.pass(4999);
    expect(episodes.model.count("closeGateway")).toBe(0);
    await episodes.pass(1);
    await episodes.model.arrived("closeGateway");
    await episodes.pass(5000);
    const { verdict, outcome } = await running;
    expect(verdict?.reward?.value).toBe(0.5);
    expect(outcome?.cleanUps).toMatchObject([
      {
        resource: { binding: "loop" },
        released: false,
        duration: { seconds: 5n },
        failure: {
          kind: FailureKind.TIMEOUT,
          stage: Stage.CLEAN_UP,
          agentId: "agent",
          causes: [{ boundary: Boundary.AGENT, delivery: Delivery.POSSIBLY_DELIVERED }],
        },
      },
      { resource: { binding: "toy" }, released: false, duration: { seconds: 5n } },
      { resource: { binding: "world" }, released: true },
    ]);
    expect(outcome?.cleanUps[0]?.failure?.reason).toContain("cleanup_timeout of 5000 ms has passed");
    // EPI-E3-002
    expect(episodes.environment.count("seed")).toBe(1);
    expect(outcome?.timings?.cleanUp).toMatchObject({ seconds: 10n });
  });

  it("is tried again within its bound: UNAVAILABLE three times, then it works (field-case-039)", async () => {
    await using episodes = await ServedEpisodes.start();
    const { close } = environmentScript();
    let tries = 0;
    episodes.environment.script.close = async (request, call) => {
      tries += 1;
      if (tries <= 3) throw bareStatus(Code.Unavailable);
      return (await close?.(request, call)) ?? {};
    };
    const { verdict, outcome } = await episodes.run();
    expect(verdict?.reward?.value).toBe(0.5);
    expect(tries).toBe(4);
    expect(outcome?.cleanUps.at(-1)).toMatchObject({ released: true });
    expect(episodes.environment.count("seed")).toBe(1);
  });

  it("that is refused for good ends at once, without the time that it may take", async () => {
    await using episodes = await ServedEpisodes.start();
    episodes.agent.script.close = async () => {
      throw new Refusal("EPISODE_MISMATCH", "not yours");
    };
    // No time passes by the driver's clock.
    const { outcome } = await episodes.run();
    expect(outcome?.cleanUps[0]).toMatchObject({ released: false, duration: { seconds: 0n, nanos: 0 } });
    expect(episodes.agent.count("close")).toBe(1);
  });

  it("that its server keeps failing is given up after a share of its time, the next still runs", async () => {
    await using episodes = await ServedEpisodes.start({ timeouts: { cleanUpMs: 1500 } });
    episodes.agent.script.close = async () => {
      throw bareStatus(Code.Unavailable);
    };
    // No time passes by the driver's clock: only what bounds the tries ends them.
    const { verdict, outcome } = await episodes.run();
    expect(verdict).toBeDefined();
    expect(outcome?.cleanUps.map(({ released }) => released)).toEqual([false, true, true]);
    expect(outcome?.cleanUps[0]?.failure).toMatchObject({
      kind: FailureKind.UNAVAILABLE,
      causes: [{ boundary: Boundary.AGENT, code: Code.Unavailable }],
    });
    const tries = episodes.agent.count("close");
    expect(tries).toBeGreaterThan(1);
    expect(tries).toBeLessThan(8);
  });

  it("is asked again while its server cannot confirm it", async () => {
    await using episodes = await ServedEpisodes.start();
    let tries = 0;
    episodes.agent.script.close = async () => {
      tries += 1;
      return { receipt: { ...receipt, cleanupConfirmed: tries > 2, left: [{ kind: "process", id: "7" }] } };
    };
    const running = episodes.run();
    for (const count of [1, 2]) {
      await episodes.agent.arrived("close", count);
      await episodes.pass(1000);
    }
    expect((await running).outcome?.cleanUps[0]).toMatchObject({ released: true, duration: { seconds: 2n } });
  });

  it("that is never confirmed tells what is left, beside the verdict", async () => {
    await using episodes = await ServedEpisodes.start({ timeouts: { cleanUpMs: 1500 } });
    episodes.agent.script.close = async () => ({
      receipt: { ...receipt, cleanupConfirmed: false, left: [{ kind: "process", id: "7" }] },
    });
    const running = episodes.run();
    for (const [count, ms] of [
      [1, 1000],
      [2, 500],
    ] as const) {
      await episodes.agent.arrived("close", count);
      await episodes.pass(ms);
    }
    const { verdict, outcome } = await running;
    expect(verdict).toBeDefined();
    expect(outcome?.cleanUps[0]?.released).toBe(false);
    expect(outcome?.cleanUps[0]?.failure?.reason).toContain("process 7");
  });

  it("is not interrupted by what ends the episode: all run, last first, each once (field-case-049, EPI-E2-004, EPI-E2-005)", async () => {
    await using episodes = await ServedEpisodes.start();
    let letGo: () => void = () => {};
    episodes.model.script.closeGateway = () =>
      new Promise((resolve) => {
        letGo = () => resolve({ receipt, calls: 1n });
      });
    const running = episodes.run();
    await episodes.model.arrived("closeGateway");
    await episodes.stop(StopMode.ABANDON, "enough");
    await episodes.settle();
    letGo();
    const { failure, outcome } = await running;
    expect(failure).toMatchObject({ kind: FailureKind.CANCELLED });
    expect(outcome?.stopReason).toBe("enough");
    expect(closes(episodes)).toEqual(inReverse);
    expect(outcome?.cleanUps.map(({ released }) => released)).toEqual([true, true, true]);
    expect(episodes.environment.count("verify")).toBe(0);
  });
});

group("An earlier attempt's resources (EPI-E6-012)", () => {
  const attempt = (number: number) => ({ context: { episodeId: { rolloutId: "r1", attempt: number } } });

  it("are closed first, in reverse, at the endpoint that their intents tell", async () => {
    await using episodes = await ServedEpisodes.start();
    const episodeId = { rolloutId: "r1", attempt: 0 };
    const intent = (kind: ResourceKind, binding: string, id: string) => ({ kind, binding, id, episodeId });
    await using elsewhere = await ScriptedPeer.start(EnvironmentService, environmentScript(), {
      name: "elsewhere",
      seen: episodes.environment.seen,
    });
    const { outcome, events } = await episodes.run({
      ...attempt(1),
      unreleased: [
        { ...intent(ResourceKind.ENVIRONMENT_SESSION, "world", "e0"), endpoint: { url: elsewhere.url } },
        intent(ResourceKind.GATEWAY, "toy", "g0"),
        intent(ResourceKind.AGENT_SESSION, "loop", "a0"),
      ],
    });
    expect(episodes.order.slice(3, 7)).toEqual([
      ...["agent.close", "model.closeGateway", "elsewhere.close", "environment.seed"],
    ]);
    expect(elsewhere.requests("close")).toMatchObject([{ sessionId: "e0", episodeId }]);
    expect(outcome?.cleanUps.slice(0, 3).map(({ resource }) => resource?.id)).toEqual(["a0", "g0", "e0"]);
    expect(told(events).slice(0, 4)).toEqual(["accepted", "released loop", "released toy", "released world"]);
  });

  it("at a server that is not configured any more are told as left, and handed on (EPI-OUT-006)", async () => {
    await using episodes = await ServedEpisodes.start();
    const episodeId = { rolloutId: "r1", attempt: 0 };
    const kinds = [
      ResourceKind.ENVIRONMENT_SESSION,
      ResourceKind.GATEWAY,
      ResourceKind.AGENT_SESSION,
      ResourceKind.EPISODE,
    ];
    const unreleased = kinds.map((kind) => ({ kind, binding: "gone", id: `x${kind}`, episodeId }));
    const { verdict, outcome, events } = await episodes.run({ ...attempt(1), unreleased });
    expect(verdict).toBeDefined();
    const left = outcome?.cleanUps.filter(({ resource }) => resource?.binding === "gone") ?? [];
    expect(left.map(({ resource }) => resource?.kind)).toEqual(kinds.toReversed());
    for (const { released, failure } of left) {
      expect(released).toBe(false);
      expect(failure?.reason).toContain('no server "gone" is configured');
    }
    expect(told(events)).not.toContain("released gone");
    // The next attempt is told of them again, though its caller says nothing of them.
    const next = await episodes.run(attempt(2));
    expect(next.outcome?.cleanUps.map(({ resource }) => resource?.id)).toEqual(
      expect.arrayContaining(["x1", "x2", "x3", "x4"]),
    );
  });

  it("are remembered by the instance that could not release them", async () => {
    await using episodes = await ServedEpisodes.start();
    episodes.agent.script.close = async () => {
      throw new Refusal("PERMISSION", "not now");
    };
    const first = await episodes.run();
    expect(first.outcome?.cleanUps[0]?.released).toBe(false);
    episodes.agent.script.close = async () => ({ receipt });
    const before = episodes.order.length;
    await episodes.run(attempt(1));
    expect(episodes.order.slice(before, before + 2)).toEqual(["agent.close", "environment.seed"]);
    expect(episodes.agent.requests("close")[1]?.sessionId).toBe(
      episodes.agent.requests("open")[0]?.sessionId,
    );
  });

  it("end with it where the earlier attempt still runs", async () => {
    await using episodes = await ServedEpisodes.start();
    episodes.agent.script.activate = (_request, call) => hangingTurn(call);
    const first = episodes.run();
    await episodes.agent.arrived("activate");
    episodes.agent.script.activate = () => answered();
    const second = await episodes.run(attempt(1));
    expect(second.verdict).toBeDefined();
    expect((await first).failure).toMatchObject({ kind: FailureKind.CANCELLED, retry: Retry.NEW_ATTEMPT });
    expect(closes(episodes)).toEqual([...inReverse, ...inReverse]);
  });
});
