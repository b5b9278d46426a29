import { Code } from "@connectrpc/connect";
import { expect, describe as group, it } from "vitest";
import {
  Boundary,
  Delivery,
  FailureKind,
  ResourceKind,
  Retry,
  RewardAuthority,
  Role,
  Stage,
  StopMode,
} from "../../../gen/index.js";
import { bareStatus, hang } from "../../../test/scripted-peer.js";
import { Refusal } from "../../runtime/refusal.js";
import { hangingTurn, say, verdict } from "../fixtures/scripted-cast.js";
import { outcomeFor, startFar, told as tells } from "../fixtures/scripted-far.js";
import { type RunInit, ServedEpisodes, told } from "../fixtures/served-episodes.js";
import { external } from "./external.js";

const start = (far: string, driverOptions: Record<string, unknown> = {}) =>
  ServedEpisodes.start({ drivers: [external], far, driverOptions });

/** An episode server of ours that relays to another of ours, each on its own socket. */
async function both() {
  const there = await ServedEpisodes.start();
  const here = await start(there.server.url);
  return {
    there,
    here,
    async [Symbol.asyncDispose]() {
      await here[Symbol.asyncDispose]();
      await there[Symbol.asyncDispose]();
    },
  };
}

group("external relays an episode to another episode server (EPI-DRV-005)", () => {
  it("whole: the verdict as it was measured, said to be external, and all that is known", async () => {
    await using servers = await both();
    const { here, there } = servers;
    const { verdict: scored, outcome, events } = await here.run({ includeItems: true });
    expect(scored).toMatchObject({
      reward: { value: 0.5 },
      provenance: { implementation: "world", authority: RewardAuthority.EXTERNAL },
    });
    const { outcome: theirs } = await there.attach();
    for (const part of ["task", "agentEnds", "submission", "verifierState", "usage", "training"] as const) {
      expect(outcome?.[part]).toEqual(theirs?.[part]);
    }
    expect(outcome?.context).toEqual(theirs?.context);
    expect(outcome?.answerId).not.toBe(theirs?.answerId);
    expect(told(events).filter((line) => line !== "item")).toEqual([
      "accepted",
      ...["intent far", "stage SEED", "intent far/world", "stage OPEN_GATEWAY", "intent far/toy"],
      ...["stage OPEN", "intent far/loop", "stage ACTIVATE", "stage CLOSE_AGENT", "released far/loop"],
      ...["stage CLOSE_GATEWAY", "released far/toy", "stage VERIFY", "stage CLEAN_UP"],
      ...["released far/world", "stage CLEAN_UP", "released far", "outcome"],
    ]);
    expect(outcome?.cleanUps.map(({ resource, released }) => [resource?.binding, released])).toEqual([
      ["far", true],
      ["far/loop", true],
      ["far/toy", true],
      ["far/world", true],
    ]);
    expect(outcome?.participants.map(({ boundary, binding }) => [Boundary[boundary], binding])).toEqual([
      ["EPISODE", "far"],
      ["ENVIRONMENT", "far/world"],
      ["AGENT", "far/loop"],
      ["MODEL", "far/toy"],
    ]);
    // Nobody here was asked anything.
    expect(here.seen).toEqual([]);
  });

  it("its trajectory can be read here (EPI-OUT-007)", async () => {
    await using servers = await both();
    await servers.here.run();
    const { records } = await servers.here.trajectory();
    const theirs = await servers.there.trajectory();
    expect(records.map(({ record }) => record.case)).toEqual(["item", "item", "call"]);
    expect(records).toEqual(theirs.records);
  });

  it("its names, driver and options are the other server's; our bounds hold there", async () => {
    await using far = await startFar();
    far.script.run = (request) =>
      tells(outcomeFor(request, { outcome: { case: "verdict", value: verdict(1) } }));
    await using here = await start(far.url);
    const asked: RunInit = {
      environment: "theirs",
      agents: [],
      sandbox: "their-boxes",
      envSeed: 9n,
      optionsJson: '{"server":"far","driver":"harbor","driver_options":{"turn_sessions":"continue"}}',
    };
    expect((await here.run(asked)).verdict?.reward?.value).toBe(1);
    const [request] = far.requests("run");
    expect(request).toMatchObject({
      environment: "theirs",
      agents: [],
      sandbox: "their-boxes",
      envSeed: 9n,
      driver: "harbor",
      optionsJson: '{"turn_sessions":"continue"}',
      timeouts: { episode: { seconds: 3600n }, cleanUp: { seconds: 30n } },
    });
    expect(request?.timeouts?.queue).toBeUndefined();
    expect(request?.context?.episodeId?.rolloutId).toBe("r1");
  });

  it("a verdict without a reward stays without (EPI-OUT-009)", async () => {
    await using far = await startFar();
    far.script.run = (request) => tells(outcomeFor(request, { outcome: { case: "verdict", value: {} } }));
    await using here = await start(far.url);
    const { verdict: scored } = await here.run();
    expect(scored).toBeDefined();
    expect(scored?.reward).toBeUndefined();
    expect(scored?.provenance?.authority).toBe(RewardAuthority.EXTERNAL);
  });

  it("its failure is passed on with its own words", async () => {
    await using far = await startFar();
    const failure = {
      kind: FailureKind.HARNESS_CRASHED,
      retry: Retry.NEW_ATTEMPT,
      stage: Stage.ACTIVATE,
      agentId: "agent",
      reason: "it broke",
    };
    far.script.run = (request) =>
      tells(outcomeFor(request, { outcome: { case: "failure", value: failure }, steps: 3 }));
    await using here = await start(far.url);
    const ran = await here.run();
    expect(ran.failure).toMatchObject({
      ...failure,
      causes: [{ boundary: Boundary.EPISODE, rpc: "touchstone.v1.EpisodeService/Run" }],
    });
    expect(ran.outcome?.steps).toBe(3);
  });
});

group("What the other server does wrong is no verdict", () => {
  const wrong = {
    "an outcome of another episode": [
      { context: { episodeId: { rolloutId: "other" } }, outcome: { case: "verdict", value: verdict(1) } },
      FailureKind.PROTOCOL_VIOLATION,
    ],
    "an outcome of no episode": [
      { context: {}, outcome: { case: "verdict", value: verdict(1) } },
      FailureKind.PROTOCOL_VIOLATION,
    ],
    "neither a verdict nor a failure": [{}, FailureKind.PROTOCOL_VIOLATION],
    "a reward that is no number": [
      { outcome: { case: "verdict", value: verdict(Number.NaN) } },
      FailureKind.INVALID_REWARD,
    ],
  } as const;
  for (const [name, [change, kind]] of Object.entries(wrong)) {
    it(name, async () => {
      await using far = await startFar();
      far.script.run = (request) => tells(outcomeFor(request, change));
      await using here = await start(far.url);
      expect((await here.run()).failure).toMatchObject({ kind, retry: Retry.NEVER });
    });
  }

  it("a refusal is passed on by name, and nothing is made up", async () => {
    await using far = await startFar();
    far.script.run = () => {
      throw new Refusal("NAME_UNKNOWN", "environment: not known", {
        violations: [{ field: "environment", description: "not known" }],
      });
    };
    far.script.stop = () => {
      throw new Refusal("SESSION_UNKNOWN", "no such episode");
    };
    await using here = await start(far.url);
    const { failure, outcome } = await here.run();
    expect(failure).toMatchObject({ kind: FailureKind.PROTOCOL_VIOLATION, retry: Retry.NEVER });
    expect(JSON.parse(failure?.detailsJson ?? "")).toMatchObject({ refused: "NAME_UNKNOWN" });
    expect(outcome?.cleanUps).toMatchObject([{ resource: { binding: "far" }, released: true }]);
  });

  it("one that is lost is worth another attempt, with what it had not told to be released (EPI-E1-006)", async () => {
    await using far = await startFar();
    const intent = {
      kind: ResourceKind.ENVIRONMENT_SESSION,
      binding: "world",
      id: "e1",
      episodeId: { rolloutId: "r1" },
    };
    far.script.run = async function* () {
      yield* tells({ case: "resourceIntent", value: intent });
      throw bareStatus(Code.Unavailable);
    };
    far.script.stop = () => {
      throw bareStatus(Code.Unavailable);
    };
    await using here = await ServedEpisodes.start({
      drivers: [external],
      far: far.url,
      timeouts: { cleanUpMs: 600 },
    });
    const { failure, outcome } = await here.run();
    expect(failure).toMatchObject({
      kind: FailureKind.UNAVAILABLE,
      retry: Retry.NEW_ATTEMPT,
      causes: [{ boundary: Boundary.EPISODE, delivery: Delivery.DELIVERED }],
    });
    expect(
      outcome?.cleanUps.map(({ resource, released }) => [resource?.binding, resource?.id, released]),
    ).toEqual([
      ["far", "r1", false],
      ["far/world", "e1", false],
    ]);
  });

  it("another instance would play the episode a second time: it is ended there (EPI-E6-011)", async () => {
    await using far = await startFar();
    far.script.run = async function* (_request, call) {
      const first = far.count("run") === 1;
      call.responseHeader.set("touchstone-instance", first ? "f-1" : "f-2");
      yield* tells();
      if (!first) await hang(call);
    };
    far.script.attach = async function* () {
      const episodeId = { rolloutId: "r1" };
      for await (const { event } of tells(
        outcomeFor({}, { context: { episodeId }, outcome: { case: "failure", value: {} } }),
      )) {
        if (event !== undefined) yield { $typeName: "touchstone.v1.AttachResponse", event };
      }
    };
    await using here = await start(far.url);
    const { failure } = await here.run();
    expect(failure).toMatchObject({ kind: FailureKind.SESSION_LOST, retry: Retry.NEW_ATTEMPT });
    expect(far.requests("stop")).toMatchObject([{ mode: StopMode.ABANDON }]);
  });

  it("silence beyond all bounds is a timeout, and it is ended there", async () => {
    await using far = await startFar();
    far.script.run = async function* (_request, call) {
      yield* tells();
      await hang(call);
    };
    far.script.stop = () => {
      throw new Refusal("SESSION_UNKNOWN", "gone");
    };
    await using here = await ServedEpisodes.start({
      drivers: [external],
      far: far.url,
      timeouts: { episodeMs: 1000, verificationMs: 1000, cleanUpMs: 1000 },
    });
    const running = here.run();
    await far.arrived("run");
    await here.pass(9_999);
    expect(far.count("stop")).toBe(0);
    await here.pass(1);
    expect((await running).failure).toMatchObject({ kind: FailureKind.TIMEOUT, retry: Retry.NEW_ATTEMPT });
    expect(far.count("stop")).toBe(1);
  });
});

group("Stop is relayed (EPI-DRV-010)", () => {
  it("FINISH: the turn there ends and its work is verified", async () => {
    await using servers = await both();
    const { here, there } = servers;
    let end: () => void = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const { activate } = there.agent.script;
    there.agent.script.activate = async function* (request, call) {
      yield { sequence: 1n, event: { case: "accepted", value: {} } };
      await ended;
      if (activate === undefined) return;
      for await (const event of activate(request, call)) if (event.sequence !== 1n) yield event;
    };
    there.agent.script.interrupt = async () => {
      end();
      return { alreadyEnded: false };
    };
    const running = here.run();
    await there.agent.arrived("activate");
    await here.stop(StopMode.FINISH, "time is up");
    const { verdict: scored, outcome } = await running;
    expect(scored?.reward?.value).toBe(0.5);
    expect(outcome?.stopReason).toBe("time is up");
    expect((await there.attach()).outcome?.stopReason).toBe("time is up");
  });

  it("ABANDON: the episode there ends without a verdict and is cleaned up", async () => {
    await using servers = await both();
    const { here, there } = servers;
    there.agent.script.activate = (_request, call) => hangingTurn(call);
    const running = here.run();
    await there.agent.arrived("activate");
    await here.stop(StopMode.ABANDON, "no longer wanted");
    const { failure, outcome } = await running;
    expect(failure).toMatchObject({ kind: FailureKind.CANCELLED, stage: Stage.ACTIVATE });
    const theirs = await there.attach();
    expect(theirs.failure?.kind).toBe(FailureKind.CANCELLED);
    expect(theirs.outcome?.stopReason).toBe("no longer wanted");
    expect(there.environment.count("close")).toBe(1);
    expect(outcome?.cleanUps.every(({ released }) => released)).toBe(true);
    expect(outcome?.agentEnds).toMatchObject([{ agentId: "agent" }]);
  });
});

group("What an earlier attempt left", () => {
  const episodeId = { rolloutId: "r1", attempt: 0 };

  it("at the other server is handed over to it, by its own names (EPI-E6-012)", async () => {
    await using far = await startFar();
    far.script.run = (request) =>
      tells(outcomeFor(request, { outcome: { case: "verdict", value: verdict(1) } }));
    far.script.stop = () => {
      throw new Refusal("SESSION_UNKNOWN", "gone");
    };
    await using here = await start(far.url);
    const left = (kind: ResourceKind, binding: string, id: string) => ({ kind, binding, id, episodeId });
    const { outcome } = await here.run({
      context: { episodeId: { rolloutId: "r1", attempt: 1 } },
      unreleased: [
        left(ResourceKind.EPISODE, "far", "r1"),
        left(ResourceKind.GATEWAY, "far/toy", "g1"),
        left(ResourceKind.GATEWAY, "elsewhere/toy", "g2"),
      ],
    });
    expect(far.requests("run")[0]?.unreleased).toMatchObject([{ binding: "toy", id: "g1" }]);
    expect(far.requests("stop")).toMatchObject([{ episodeId: { rolloutId: "r1" }, mode: StopMode.ABANDON }]);
    expect(outcome?.cleanUps.map(({ resource, released }) => [resource?.id, released])).toEqual([
      ["g2", false],
      ["r1", true],
      ["r1-a1", true],
    ]);
  });
});

group("Where external plays is configured", () => {
  it("a server that is not bound is refused, an address too (EPI-RUN-012, EPI-RUN-013)", async () => {
    await using far = await startFar();
    await using here = await start(far.url);
    for (const [optionsJson, reason] of [
      ['{"server":"nope"}', "NAME_UNKNOWN"],
      [`{"server":"${far.url}"}`, "INVALID_FIELD"],
      ['{"run":{"url":"http://127.0.0.1:1/run"}}', "INVALID_FIELD"],
    ] as const) {
      expect((await here.run({ optionsJson })).error).toMatchObject({ reason });
    }
    expect(far.seen).toEqual([]);
  });

  it("without a server that could be meant it is refused", async () => {
    await using here = await ServedEpisodes.start({ drivers: [external] });
    const { error } = await here.run();
    expect(error).toMatchObject({ reason: "INVALID_FIELD", fields: ["options_json.server"] });
  });

  it("options that exclude each other are refused at start", async () => {
    const run = { url: "http://127.0.0.1:1/run" };
    await expect(start("http://127.0.0.1:1", { server: "far", run })).rejects.toThrow(/server and run/);
  });

  it("items are told exactly when asked (EPI-EVT-003)", async () => {
    await using far = await startFar();
    far.script.run = (request) =>
      tells(
        ...(request.includeItems ? [{ case: "item", value: say(Role.ASSISTANT, "hm") } as const] : []),
        outcomeFor(request, { outcome: { case: "verdict", value: verdict(1) } }),
      );
    await using here = await start(far.url);
    expect(told((await here.run({ includeItems: true })).events)).toContain("item");
    const named = { context: { episodeId: { rolloutId: "r2" } } };
    expect(told((await here.run(named)).events)).not.toContain("item");
  });
});
