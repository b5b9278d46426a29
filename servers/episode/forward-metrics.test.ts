import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { expect, describe as group, it } from "vitest";
import { type Client, createClient, grpcJsChannel } from "../../clients/index.js";
import {
  type EnvironmentServiceAggregateMetricsRequest,
  EpisodeService,
  type EpisodeServiceAggregateMetricsRequestSchema,
  FailureKind,
  Feature,
} from "../../gen/index.js";
import { bareStatus } from "../../test/scripted-peer.js";
import { invalidField } from "../runtime/refusal.js";
import { verdict } from "./fixtures/scripted-cast.js";
import { method, ServedEpisodes } from "./fixtures/served-episodes.js";

type Part = Omit<MessageInitShape<typeof EpisodeServiceAggregateMetricsRequestSchema>, "$typeName">;

const scored = (value: number) => ({
  episodes: [{ outcome: { case: "verdict" as const, value: verdict(value) } }],
});

async function* stream(...parts: Part[]): AsyncGenerator<Part> {
  yield* parts;
}

/** Calls the episode server with these parts; answers what came of it, and what reached the environment. */
async function ask(parts: AsyncIterable<Part>, change: (episodes: ServedEpisodes) => void = () => {}) {
  await using episodes = await ServedEpisodes.start();
  const got: EnvironmentServiceAggregateMetricsRequest[] = [];
  episodes.environment.script.aggregateMetrics = async (requests) => {
    for await (const request of requests) got.push(request);
    return { metrics: [{ name: "theirs", value: 0.125, count: 9n }], scored: 9n };
  };
  change(episodes);
  await using channel = grpcJsChannel({ url: episodes.server.url });
  const client: Client<typeof EpisodeService> = createClient(EpisodeService, channel);
  const answer = await client.aggregateMetrics(parts).catch((error: unknown) => ({ error }));
  return { answer, got };
}

group("AggregateMetrics (EPI-METR-001)", () => {
  it("is declared", async () => {
    await using episodes = await ServedEpisodes.start();
    const { message } = await episodes.client.unary(method.describe, {});
    expect(message?.service?.features).toContain(Feature.METRICS);
  });

  it("hands every part to the environment and answers its numbers, which nobody here could have computed", async () => {
    const { answer, got } = await ask(
      stream(
        { environment: "world", request: scored(1) },
        { request: scored(0) },
        { environment: "world", request: scored(0.5) },
      ),
    );
    expect(got.map(({ episodes }) => episodes.length)).toEqual([1, 1, 1]);
    expect(answer).toMatchObject({
      response: { metrics: [{ name: "theirs", value: 0.125, count: 9n }], scored: 9n },
    });
  });

  it.each<[string, Part[], string]>([
    ["no message at all", [], "INVALID_FIELD"],
    ["no name", [{ request: scored(1) }], "NAME_UNKNOWN"],
    ["a name that is not known", [{ environment: "elsewhere" }], "NAME_UNKNOWN"],
    ["an address (EPI-RUN-013)", [{ environment: "http://127.0.0.1:1" }], "INVALID_FIELD"],
    [
      "another name later",
      [
        { environment: "world", request: scored(1) },
        { environment: "moon", request: scored(1) },
      ],
      "INVALID_FIELD",
    ],
  ])("%s is refused", async (_what, parts, reason) => {
    const { answer } = await ask(stream(...parts));
    expect(answer).toMatchObject({ error: { reason } });
  });

  it("an environment without METRICS is said to lack the feature", async () => {
    const { answer } = await ask(stream({ environment: "world", request: scored(1) }), ({ environment }) => {
      delete environment.script.aggregateMetrics;
    });
    expect(answer).toMatchObject({
      error: { reason: "FEATURE_UNSUPPORTED", metadata: { feature: "METRICS" } },
    });
  });

  it("what the environment refuses of the content is refused by its path; its own trouble is a failure", async () => {
    const refused = await ask(stream({ environment: "world", request: scored(1) }), ({ environment }) => {
      environment.script.aggregateMetrics = async () => {
        throw invalidField("episodes[0]", "is not of this environment");
      };
    });
    expect(refused.answer).toMatchObject({
      error: { reason: "INVALID_FIELD", violations: [{ field: "request.episodes[0]" }] },
    });
    const lost = await ask(stream({ environment: "world", request: scored(1) }), ({ environment }) => {
      environment.script.aggregateMetrics = async () => {
        throw bareStatus(Code.PermissionDenied);
      };
    });
    expect(lost.answer).toMatchObject({ error: { failure: { kind: FailureKind.PROTOCOL_VIOLATION } } });
  });
});
