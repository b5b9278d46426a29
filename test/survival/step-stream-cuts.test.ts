import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { afterEach, expect, describe as group, it } from "vitest";
import { environmentClient, grpcJsChannel, http2Channel } from "../../clients/index.js";
import type { StepResponse } from "../../gen/index.js";
import { defineEnvironment } from "../../servers/environment/define-environment.js";
import { environmentService } from "../../servers/environment/environment-service.js";
import { createRuntime } from "../../servers/runtime/runtime.js";
import { type RunningServer, serve } from "../../servers/runtime/serve.js";
import * as fixture from "../rules/fixture.js";

const steps = 10_000;
const cuts = 25;

/** A walk whose every step depends on all before it: one step twice, lost or out of order changes what follows. */
const walk = (executed: { count: number }) =>
  defineEnvironment({
    name: "gated",
    version: "1.0.0",
    reward: { timing: "step", minimum: 0, maximum: 1 },
    determinism: "seeded",
    read: () => null,
    seed: () => ({ state: { at: 1 } }),
    step({ state, stepIndex }) {
      executed.count += 1;
      state.at = (state.at * 48_271 + stepIndex) % 2_147_483_647;
      return { observation: String(state.at), reward: (state.at % 1000) / 1000 };
    },
    verify: () => ({ reward: 1 }),
  });

const cleanUps: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function served(executed: { count: number }): Promise<RunningServer> {
  const runtime = createRuntime();
  const server = await serve({ runtime, services: [environmentService(walk(executed), runtime)] });
  cleanUps.push(() => server.close({ drainTimeoutMs: 0 }));
  return server;
}

/** A way to a server whose connections the test cuts. */
async function cuttable(to: string) {
  const { port } = new URL(to);
  const sockets = new Set<Socket>();
  const proxy = createServer((near) => {
    const far = connect(Number(port), "127.0.0.1");
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const cut = (): void => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  cleanUps.push(() => {
    cut();
    proxy.close();
  });
  return { url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, cut };
}

/** What a trajectory is: everything but the ids that are new for each execution. */
const told = ({ stepIndex, sequence, outcomes, nextAgents }: StepResponse): string =>
  JSON.stringify([
    stepIndex,
    String(sequence),
    nextAgents,
    outcomes.map(({ reward, observation }) => [reward?.value, fixture.told(observation?.items)]),
  ]);

async function play(
  url: string,
  channelOf: typeof http2Channel | typeof grpcJsChannel,
  onAnswer: (count: number) => void,
): Promise<{ readonly trajectory: string[]; readonly answerIds: Set<string> }> {
  const channel = channelOf({ url });
  const client = environmentClient(channel, { repeat: { firstDelayMs: 1, maxDelayMs: 20 } });
  const trajectory: string[] = [];
  const answerIds = new Set<string>();
  try {
    await client.seed(fixture.seedRequest());
    const stream = client.openStepStream();
    await Promise.all(
      Array.from({ length: steps }, async (_, i) => {
        const answer = await stream.step(fixture.stepRequest(i));
        trajectory.push(told(answer));
        answerIds.add(answer.answerId);
        onAnswer(trajectory.length);
      }),
    );
    await stream.close();
  } finally {
    await channel.close();
  }
  return { trajectory, answerIds };
}

group("a stream of steps whose connection is cut again and again", () => {
  it.each([
    ["http2", http2Channel],
    ["grpc-js", grpcJsChannel],
  ] as const)(
    "gives over %s the trajectory of an uncut one, nothing stepped twice (ENV-STRM-005)",
    async (_name, channelOf) => {
      const uncutRuns = { count: 0 };
      const uncut = await play((await served(uncutRuns)).url, channelOf, () => {});
      const executed = { count: 0 };
      const wire = await cuttable((await served(executed)).url);
      let cut = 0;
      const every = Math.floor(steps / (cuts + 1));
      const { trajectory, answerIds } = await play(wire.url, channelOf, (count) => {
        if (count % every !== 0 || cut >= cuts) return;
        cut += 1;
        wire.cut();
      });
      expect(cut).toBe(cuts);
      expect(trajectory).toHaveLength(steps);
      expect(trajectory).toEqual(uncut.trajectory);
      expect(answerIds.size).toBe(steps);
      expect([uncutRuns.count, executed.count]).toEqual([steps, steps]);
    },
  );

  it("is lost where another instance answers: what was opened there is gone (R14)", async () => {
    const first = await served({ count: 0 });
    const port = Number(new URL(first.url).port);
    const channel = http2Channel({ url: first.url });
    cleanUps.push(() => channel.close());
    const client = environmentClient(channel, { repeat: { firstDelayMs: 1, maxDelayMs: 20 } });
    await client.seed(fixture.seedRequest());
    const stream = client.openStepStream();
    expect((await stream.step(fixture.stepRequest(0))).stepIndex).toBe(0);
    await first.close({ drainTimeoutMs: 0 });
    const runtime = createRuntime();
    const second = await serve({
      runtime,
      port,
      services: [environmentService(walk({ count: 0 }), runtime)],
    });
    cleanUps.push(() => second.close({ drainTimeoutMs: 0 }));
    await expect(stream.step(fixture.stepRequest(1))).rejects.toMatchObject({ name: "InstanceChangedError" });
    await expect(stream.step(fixture.stepRequest(2))).rejects.toMatchObject({ name: "InstanceChangedError" });
  });

  it("tells a refusal as the answer of its step, and goes on", async () => {
    const server = await served({ count: 0 });
    const channel = http2Channel({ url: server.url });
    cleanUps.push(() => channel.close());
    const client = environmentClient(channel);
    await client.seed(fixture.seedRequest());
    await using stream = client.openStepStream();
    await expect(stream.step(fixture.stepRequest(1))).rejects.toMatchObject({
      reason: "OUT_OF_ORDER",
      metadata: { expected_index: "0" },
    });
    expect((await stream.step(fixture.stepRequest(0))).stepIndex).toBe(0);
    await stream.close();
    await expect(stream.step(fixture.stepRequest(1))).rejects.toThrow(/closed/);
  });
});
