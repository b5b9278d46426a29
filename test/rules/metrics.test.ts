import type { MessageInitShape } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { expect, describe as group, it } from "vitest";
import {
  EnvironmentService,
  FailureKind,
  type ScoredEpisodeSchema,
  type VerdictSchema,
} from "../../gen/index.js";
import * as fixture from "./fixture.js";

type Episode = MessageInitShape<typeof ScoredEpisodeSchema>;

const verdict = (init: MessageInitShape<typeof VerdictSchema>): Episode => ({
  context: fixture.seedRequest().context,
  taskId: { id: "t" },
  outcome: { case: "verdict", value: { provenance: {}, ...init } as MessageInitShape<typeof VerdictSchema> },
});
const scored = (value: number, more = {}) => verdict({ reward: { value }, ...more });
const failed: Episode = { outcome: { case: "failure", value: { kind: FailureKind.TIMEOUT } } };

async function aggregate(episodes: readonly Episode[]) {
  await using f = await fixture.startFixture();
  const client = createClient(EnvironmentService, createGrpcTransport({ baseUrl: f.server.url }));
  async function* requests() {
    for (const episode of episodes) yield { episodes: [episode] };
  }
  return await client.aggregateMetrics(requests());
}

group("METRICS", () => {
  it("averages what is scored; failed, masked and unscored episodes are counted apart (ENV-METR-001, -004, -005)", async () => {
    const told = await aggregate([
      scored(1, { success: true, components: { exact: 1 }, metrics: { steps: 4 } }),
      scored(0, { success: false, components: { exact: 0 } }),
      verdict({ reward: { value: 1 }, masked: { reason: "agent_failure" } }),
      verdict({}),
      failed,
      failed,
    ]);
    expect(told).toMatchObject({ scored: 2n, masked: 1n, unscored: 1n, failed: 2n });
    expect(told.metrics.map(({ name, value, count }) => [name, value, count])).toEqual([
      ["component/exact", 0.5, 2n],
      ["mean_reward", 0.5, 2n],
      ["metric/steps", 4, 1n],
      ["success_rate", 0.5, 2n],
    ]);
  });

  it("does not depend on the order (ENV-METR-002)", async () => {
    const episodes = [0.1, 0.2, 0.3, 1e-9, 0.7, 0.123456789].map((value) => scored(value));
    const forwards = await aggregate(episodes);
    const backwards = await aggregate([...episodes].reverse());
    expect(backwards.metrics).toEqual(forwards.metrics);
  });

  it("has no mean of nothing (ENV-METR-003)", async () => {
    expect((await aggregate([failed])).metrics).toEqual([]);
    expect(await aggregate([])).toMatchObject({ scored: 0n, failed: 0n, metrics: [] });
  });

  it("refuses an episode without an outcome by its path", async () => {
    await expect(aggregate([scored(1), {}])).rejects.toThrow(/episodes\[0\]\.outcome/);
  });
});
