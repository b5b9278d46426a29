import { Code } from "@connectrpc/connect";
import { expect, describe as group, it } from "vitest";
import { bareStatus, hang } from "../../test/scripted-peer.js";
import { hangingTurn, hangingVerify, lease, seeded } from "./fixtures/scripted-cast.js";
import { ServedEpisodes } from "./fixtures/served-episodes.js";

const counts = ({ environment, agent, model }: ServedEpisodes): number[] =>
  [environment, agent, model].map((peer) => peer.count("keepAlive" as never));

/** Lets time pass in steps, so that each renewal has its answer before the next is due. */
async function passSteps(episodes: ServedEpisodes, steps: number, ms: number): Promise<void> {
  for (let i = 0; i < steps; i += 1) {
    const before = counts(episodes).reduce((a, b) => a + b, 0);
    await episodes.pass(ms);
    for (let tries = 0; tries < 20 && counts(episodes).reduce((a, b) => a + b, 0) === before; tries += 1) {
      await episodes.settle();
    }
    await episodes.settle();
  }
}

group("What the driver opened is renewed at a third of its lease (E9)", () => {
  it("environment, agent and gateway, while a turn runs; nothing before (EPI-E9-001, EPI-E9-002)", async () => {
    await using episodes = await ServedEpisodes.start();
    episodes.agent.script.activate = (_request, call) => hangingTurn(call);
    const running = episodes.run();
    await episodes.agent.arrived("activate");
    await episodes.pass(9999);
    expect(counts(episodes)).toEqual([0, 0, 0]);
    await passSteps(episodes, 1, 1);
    expect(counts(episodes)).toEqual([1, 1, 1]);
    await passSteps(episodes, 4, 10_000);
    expect(counts(episodes)).toEqual([5, 5, 5]);
    for (const peer of [episodes.environment, episodes.agent, episodes.model]) {
      const kept = episodes.seen.filter(({ peer: name, rpc }) => name === peer.name && rpc === "keepAlive");
      expect(kept.every(({ headers }) => headers.get("touchstone-key") === "r1")).toBe(true);
    }
    await episodes.stop();
    await running;
  });

  it("by the lease that the peer echoes, at Seed and at each renewal (EPI-E9-003)", async () => {
    await using episodes = await ServedEpisodes.start();
    episodes.agent.script.activate = (_request, call) => hangingTurn(call);
    episodes.environment.script.seed = async (request) =>
      seeded(request, { lease: { duration: { seconds: 3n, nanos: 0 } } });
    episodes.environment.script.keepAlive = async () => ({ lease: { duration: { seconds: 60n, nanos: 0 } } });
    const running = episodes.run();
    await episodes.agent.arrived("activate");
    await passSteps(episodes, 1, 1000);
    expect(episodes.environment.count("keepAlive")).toBe(1);
    await episodes.pass(19_999);
    expect(episodes.environment.count("keepAlive")).toBe(1);
    await passSteps(episodes, 1, 1);
    expect(episodes.environment.count("keepAlive")).toBe(2);
    await episodes.stop();
    await running;
  });

  it("the environment's also while it verifies; what is closed no more", async () => {
    await using episodes = await ServedEpisodes.start();
    episodes.environment.script.verify = (_request, call) => hangingVerify(call);
    const running = episodes.run();
    await episodes.environment.arrived("verify");
    await passSteps(episodes, 3, 10_000);
    expect(counts(episodes)).toEqual([3, 0, 0]);
    await episodes.stop();
    await running;
    await episodes.pass(60_000);
    expect(counts(episodes)).toEqual([3, 0, 0]);
  });

  it("one that fails for the moment, or hangs, is made again; the episode goes on", async () => {
    await using episodes = await ServedEpisodes.start();
    episodes.agent.script.activate = (_request, call) => hangingTurn(call);
    let fails = true;
    episodes.environment.script.keepAlive = async () => {
      if (fails) throw bareStatus(Code.PermissionDenied);
      return { lease };
    };
    episodes.agent.script.keepAlive = (_request, call) => hang(call);
    const running = episodes.run();
    await episodes.agent.arrived("activate");
    await episodes.pass(10_000);
    await episodes.environment.arrived("keepAlive");
    await episodes.agent.arrived("keepAlive");
    fails = false;
    // The one that hangs is cut when the next is due.
    await episodes.pass(10_000);
    await episodes.pass(10_000);
    await episodes.agent.arrived("keepAlive", 2);
    await episodes.environment.arrived("keepAlive", 2);
    expect(episodes.environment.count("close")).toBe(0);
    await episodes.stop();
    expect((await running).outcome?.cleanUps.every(({ released }) => released)).toBe(true);
  });

  it("a lease of nothing does not make a driver renew without pause", async () => {
    await using episodes = await ServedEpisodes.start();
    episodes.agent.script.activate = (_request, call) => hangingTurn(call);
    episodes.environment.script.seed = async (request) =>
      seeded(request, { lease: { duration: { seconds: 0n, nanos: 0 } } });
    const running = episodes.run();
    await episodes.agent.arrived("activate");
    await episodes.pass(99);
    for (let i = 0; i < 20; i += 1) await episodes.settle();
    expect(episodes.environment.count("keepAlive")).toBe(0);
    await episodes.pass(1);
    await episodes.environment.arrived("keepAlive");
    await episodes.stop();
    await running;
  });
});
