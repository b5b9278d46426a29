import { copyFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { SpanStatusCode } from "@opentelemetry/api";
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-node";
import { expect, describe as group, it } from "vitest";
import { FailureKind } from "../../gen/index.js";
import { bareStatus } from "../../test/scripted-peer.js";
import { temporaryFolder } from "../../test/temporary-folder.js";
import { hangingTurn } from "../episode/fixtures/scripted-cast.js";
import { ServedEpisodes, type ServedEpisodesOptions } from "../episode/fixtures/served-episodes.js";
import { traceEpisodes } from "./index.js";

const traceId = "0af7651916cd43dd8448eb211c80319c";
const callerId = "b7ad6b7169203331";
const metadata = { traceparent: `00-${traceId}-${callerId}-01` };

/** Episodes whose spans are kept. */
async function traced(options: ServedEpisodesOptions = {}) {
  const kept = new InMemorySpanExporter();
  const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(kept)] });
  const watch = traceEpisodes(provider.getTracer("test"), "episodes");
  return {
    spans: () => kept.getFinishedSpans(),
    episodes: await ServedEpisodes.start({ ...options, watch }),
  };
}

/** Parents of the calls that the peers have had, each once. */
const parents = ({ seen }: ServedEpisodes): (string | null)[] => [
  ...new Set(seen.map(({ headers }) => headers.get("traceparent"))),
];

group("a span for each episode", () => {
  it("is below its caller's and above every call that it makes; it names ids and stages, nothing privileged (R16)", async () => {
    const { spans, episodes } = await traced();
    await using _ = episodes;
    const { verdict } = await episodes.run({}, { metadata });
    expect(verdict).toBeDefined();
    const [span, ...others] = spans();
    expect(others).toEqual([]);
    expect(span?.name).toBe("touchstone.episode");
    expect(span?.parentSpanContext?.spanId).toBe(callerId);
    const { traceId: within, spanId } = span?.spanContext() ?? {};
    expect(within).toBe(traceId);
    expect(new Set(episodes.seen.map(({ peer }) => peer))).toEqual(
      new Set(["environment", "agent", "model"]),
    );
    expect(parents(episodes)).toEqual([`00-${traceId}-${spanId}-01`]);
    expect(span?.attributes).toEqual({
      "touchstone.server": "episodes",
      "touchstone.rollout_id": "r1",
      "touchstone.attempt": 0,
      "touchstone.environment": "world",
      "touchstone.agents": ["loop"],
      "touchstone.outcome": "verdict",
      "touchstone.steps": expect.any(Number),
    });
    expect(span?.events.map(({ name }) => name)).toEqual([
      "SEED",
      "OPEN_GATEWAY",
      "OPEN",
      "ACTIVATE",
      "CLOSE_AGENT",
      "CLOSE_GATEWAY",
      "VERIFY",
      "CLEAN_UP",
    ]);
    expect(JSON.stringify([span?.attributes, span?.events])).not.toContain("CANARY");
  });

  it("begins a trace where its caller sent none, and tells the kind and stage of a failure, not its words", async () => {
    const { spans, episodes } = await traced();
    await using _ = episodes;
    episodes.environment.script.seed = () => {
      throw bareStatus(Code.Internal, "words of the environment");
    };
    expect((await episodes.run()).failure).toBeDefined();
    const [span] = spans();
    expect(span?.parentSpanContext).toBeUndefined();
    expect(span?.attributes).toMatchObject({
      "touchstone.outcome": "failure",
      "touchstone.failure.stage": "SEED",
    });
    expect(span?.status).toEqual({ code: SpanStatusCode.ERROR, message: expect.stringMatching(/^[A-Z_]+$/) });
  });

  it("ends with the refusal of one that is not admitted", async () => {
    const { spans, episodes } = await traced({ limits: { maxSessions: 1 }, timeouts: { queueMs: 0 } });
    await using _ = episodes;
    episodes.agent.script.activate = (_request, call) => hangingTurn(call);
    const first = episodes.run();
    await episodes.agent.arrived("activate");
    const { error } = await episodes.run({ context: { episodeId: { rolloutId: "b" } } });
    expect(error).toBeDefined();
    const [span, ...others] = spans();
    expect(others).toEqual([]);
    expect(span?.attributes["touchstone.rollout_id"]).toBe("b");
    expect(span?.status).toEqual({ code: SpanStatusCode.ERROR, message: error?.reason });
    await episodes.stop();
    await first;
  });

  it("is begun anew for one that a restart has to end, above what that releases", async () => {
    const folder = temporaryFolder();
    await using before = await ServedEpisodes.start({ records: join(folder, "killed.sqlite") });
    before.agent.script.activate = (_request, call) => hangingTurn(call);
    const running = before.run();
    await before.agent.arrived("activate");
    // What is in the file now is what a SIGKILL would leave.
    for (const file of readdirSync(folder))
      copyFileSync(join(folder, file), join(folder, file.replace("killed", "restarted")));
    const { spans, episodes } = await traced({ records: join(folder, "restarted.sqlite") });
    await using _ = episodes;
    expect((await episodes.attach()).failure?.kind).toBe(FailureKind.CANCELLED);
    const [span] = spans();
    expect(span?.attributes).toMatchObject({
      "touchstone.rollout_id": "r1",
      "touchstone.outcome": "failure",
      "touchstone.failure.stage": "ACTIVATE",
    });
    const { traceId: own, spanId } = span?.spanContext() ?? {};
    expect(parents(episodes)).toEqual([`00-${own}-${spanId}-01`]);
    await before.stop();
    await running;
  });

  it("is one for an episode, however often that is asked for", async () => {
    const { spans, episodes } = await traced();
    await using _ = episodes;
    await episodes.run();
    await episodes.run();
    expect(spans()).toHaveLength(1);
  });
});

it("without a watch no call says a place in a trace", async () => {
  await using episodes = await ServedEpisodes.start();
  await episodes.run({}, { metadata });
  expect(parents(episodes)).toEqual([null]);
});
