import { describe, expect, it } from "vitest";
import {
  AgentSessionService,
  EnvironmentService,
  EpisodeService,
  ModelService,
  type VerifyResponse,
} from "../gen/index.js";
import { agentSessionClient } from "./agent-session-client.js";
import { grpcJsChannel } from "./channel/grpc-js-channel.js";
import { environmentClient } from "./environment-client.js";
import { episodeClient } from "./episode-client.js";
import { allOf, errorOf } from "./fixtures/call-outcome.js";
import { serveEvents } from "./fixtures/event-server.js";
import { modelClient } from "./model-client.js";

const SOON = { repeat: { firstDelayMs: 1, maxDelayMs: 1, attempts: 2 } };
const accepted = { sequence: 1n, event: { case: "accepted", value: {} } };
const heartbeat = { event: { case: "heartbeat", value: {} } };

describe("environmentClient", () => {
  const { verify, watchSteps } = EnvironmentService.method;
  const result = (outcome: object) => ({ sequence: 2n, event: { case: "result", value: { outcome } } });

  it("field-case-023: verifies over a lost connection, and answers with the result", async () => {
    const verdict = { case: "verdict", value: { reward: { value: 0.5 } } };
    await using server = await serveEvents(verify, (call) =>
      call === 0
        ? { events: [accepted, heartbeat], end: "ok" }
        : { events: [heartbeat, result(verdict)], end: "ok" },
    );
    await using channel = grpcJsChannel(server);
    const { outcome } = await environmentClient(channel, SOON).verify({});
    expect(outcome.case === "verdict" && outcome.value.reward?.value).toBe(0.5);
    expect(server.afters).toEqual([0n, 1n]);
  });

  it("tells a verification event by event", async () => {
    await using server = await serveEvents(verify, () => ({
      events: [accepted, heartbeat, result({ case: "failure", value: { kind: 61 } })],
      end: "ok",
    }));
    await using channel = grpcJsChannel(server);
    const stream = environmentClient(channel).verifyEvents({});
    const events: VerifyResponse[] = await allOf(stream);
    expect(events.map(({ event }) => event.case)).toEqual(["accepted", "heartbeat", "result"]);
    expect((await stream.result()).outcome.case).toBe("failure");
  });

  it("ALL-FAIL-006: a result that it does not know is no verdict", async () => {
    await using server = await serveEvents(verify, () => ({
      events: [accepted, { sequence: 2n, event: { case: "result", value: {} } }],
      end: "ok",
    }));
    await using channel = grpcJsChannel(server);
    expect((await environmentClient(channel).verify({})).outcome.case).toBeUndefined();
  });

  it("watches steps to the session's end, by the ledger's own places", async () => {
    const step = (sequence: number) => ({
      event: { case: "step", value: { response: { sequence: BigInt(sequence) } } },
    });
    await using server = await serveEvents(watchSteps, (call) => {
      if (call === 0)
        return { events: [step(1), heartbeat, step(4)], end: { trailers: { "grpc-status": "14" } } };
      return { events: [{ event: { case: "gap", value: { untilSequence: 6n } } }, step(9)], end: "ok" };
    });
    await using channel = grpcJsChannel(server);
    const stream = environmentClient(channel, SOON).watchSteps({});
    const events = await allOf(stream);
    expect(events.map(({ event }) => event.case)).toEqual(["step", "heartbeat", "step", "gap", "step"]);
    expect(server.afters).toEqual([0n, 4n]);
    expect(stream.lastSequence).toBe(9n);
  });
});

describe("agentSessionClient", () => {
  const { activate, readTranscript } = AgentSessionService.method;

  it("ends a turn with a failure as with a completion", async () => {
    await using server = await serveEvents(activate, () => ({
      events: [accepted, { sequence: 2n, event: { case: "failed", value: { failure: { kind: 40 } } } }],
      end: "ok",
    }));
    await using channel = grpcJsChannel(server);
    const end = await agentSessionClient(channel).activate({}).result();
    expect(end.case === "failed" && end.value.failure?.kind).toBe(40);
  });

  it("reads a transcript over a lost connection", async () => {
    const record = (sequence: number) => ({ sequence: BigInt(sequence) });
    await using server = await serveEvents(readTranscript, (call) =>
      call === 0
        ? { events: [record(1), record(2)], end: { trailers: { "grpc-status": "14" } } }
        : { events: [record(3)], end: "ok" },
    );
    await using channel = grpcJsChannel(server);
    const records = await allOf(agentSessionClient(channel, SOON).readTranscript({}));
    expect(records.map(({ sequence }) => sequence)).toEqual([1n, 2n, 3n]);
    expect(server.afters).toEqual([0n, 2n]);
  });
});

describe("modelClient", () => {
  const { streamGenerate, readCapture } = ModelService.method;

  it("answers a streamed call with the whole of it", async () => {
    await using server = await serveEvents(streamGenerate, () => ({
      events: [
        { event: { case: "started", value: { callId: "c-1" } } },
        { event: { case: "delta", value: {} } },
        heartbeat,
        { event: { case: "completed", value: { callId: "c-1" } } },
      ],
      end: "ok",
    }));
    await using channel = grpcJsChannel(server);
    const stream = modelClient(channel).streamGenerate({ request: {} });
    expect((await allOf(stream)).length).toBe(4);
    expect((await stream.result()).callId).toBe("c-1");
  });

  it("reads a capture whole, over a lost connection, and gives up where it must", async () => {
    const call = (sequence: number) => ({ sequence: BigInt(sequence), call: { callId: `c-${sequence}` } });
    await using server = await serveEvents(readCapture, (count) => {
      if (count === 0) return { events: [call(1)], end: { trailers: { "grpc-status": "13" } } };
      if (count === 1) return { events: [call(2)], end: "ok" };
      return { events: [], end: { trailers: { "grpc-status": "13" } } };
    });
    await using channel = grpcJsChannel(server);
    const client = modelClient(channel, SOON);
    const calls = await allOf(client.readCapture({ gatewayId: "g" }));
    expect(calls.map((one) => one.call?.callId)).toEqual(["c-1", "c-2"]);
    expect((await errorOf(allOf(client.readCapture({ gatewayId: "g" })))).attempts).toBe(2);
  });
});

describe("episodeClient", () => {
  const { run, attach, readTrajectory } = EpisodeService.method;
  const outcome = {
    event: { sequence: 3n, event: { case: "outcome", value: {} } },
  };

  it.each([
    ["run", run],
    ["attach", attach],
  ] as const)("follows an episode by %s to its outcome", async (name, method) => {
    await using server = await serveEvents(method, (call) =>
      call === 0
        ? {
            events: [
              { event: accepted },
              {},
              { event: { sequence: 2n, event: { case: "stage", value: {} } } },
            ],
            end: "ok",
          }
        : { events: [{ event: heartbeat }, outcome], end: "ok" },
    );
    await using channel = grpcJsChannel(server);
    const stream = episodeClient(channel, SOON)[name]({});
    const events = await allOf(stream);
    expect(events.map(({ event }) => event.case)).toEqual([
      "accepted",
      undefined,
      "stage",
      "heartbeat",
      "outcome",
    ]);
    expect((await stream.result()).$typeName).toBe("touchstone.v1.EpisodeOutcome");
    expect(server.afters).toEqual([0n, 2n]);
    await server.closed(2);
    expect(server.closes).toEqual([0, 0]);
  });

  it("reads a trajectory over a lost connection", async () => {
    await using server = await serveEvents(readTrajectory, (call) =>
      call === 0
        ? { events: [{ sequence: 1n }], end: { trailers: { "grpc-status": "14" } } }
        : { events: [{ sequence: 2n }], end: "ok" },
    );
    await using channel = grpcJsChannel(server);
    const records = await allOf(episodeClient(channel, SOON).readTrajectory({}));
    expect(records.map(({ sequence }) => sequence)).toEqual([1n, 2n]);
  });
});
